"""A question's vector without what every question in its language has in common.

An English model puts all Spanish text into one corner of its space: under all-MiniLM-L6-v2 half of the length of any
Spanish question's vector is that it is Spanish, and a question. What is left when that is taken out is about something
(docs/retrieval.md has the figures). Which languages of which models need it, and how much, is part of a calibration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

TYPICAL: Mapping[str, tuple[str, ...]] = {
    "es": (
        "¿Cómo cambio la configuración?",
        "¿Cuál es el tamaño máximo de un archivo?",
        "¿Cuándo se terminó el edificio?",
        "¿Quién es responsable del presupuesto?",
        "¿Por qué fracasó el proyecto?",
        "¿Dónde puedo encontrar el informe?",
        "¿Qué versión es compatible?",
        "¿Cuántas personas viven en la ciudad?",
        "¿Cuánto cuesta el servicio?",
        "¿Cuánto tarda el proceso?",
        "¿Puedo cancelar mi pedido?",
        "¿Qué ocurre si el pago se retrasa?",
        "¿Quién escribió el libro?",
        "¿En qué año terminó la guerra?",
        "¿Qué debo hacer cuando aparece un error?",
        "¿Se pueden exportar los datos?",
        "¿Qué diferencia hay entre los dos planes?",
        "¿Cada cuánto se hacen las copias de seguridad?",
        "¿Qué país produce más petróleo?",
        "¿Cuáles son los requisitos del puesto?",
        "pasos para instalar el programa",
        "quién aprueba los gastos",
        "se pierde la conexión después de reiniciar",
        "nombre del río más grande de la región",
        "qué significa la abreviatura",
        "horario de apertura de la biblioteca",
        "restablecer mi contraseña",
        "lista de comandos disponibles",
        "¿Cómo se mide la temperatura?",
        "¿Qué causó el accidente?",
        "¿Necesitamos permiso para publicar fotografías?",
        "¿Cuál fue el resultado de las elecciones?",
    )
}
"""Questions about anything, by language: the mean of their vectors is what they have in common."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question's vector, and by language the mean of TYPICAL questions. Shapes (dimensions,)."""

    vector: NDArray[np.float32]
    common: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)

    def without_common(self, language: str | None, share: float) -> NDArray[np.float32]:
        """The vector less `share` of what the language's questions have in common, of length 1; the vector itself where
        nothing is known of the language."""
        common = self.common.get(language or "")
        if common is None or not share:
            return self.vector
        rest = self.vector - np.float32(share) * common
        length = float(np.linalg.norm(rest))
        return self.vector if length < 1e-6 else np.asarray(rest / length, dtype=np.float32)
