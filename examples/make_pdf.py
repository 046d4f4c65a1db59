"""Make the example vault's one PDF: the same bytes at every run with the same PyMuPDF.

    python examples/make_pdf.py [FILE]

Without FILE it writes examples/vault/runbooks/plan-de-continuidad.pdf, the copy that is committed.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pymupdf

TARGET = Path(__file__).parent / "vault" / "runbooks" / "plan-de-continuidad.pdf"

LEFT, RIGHT, TOP = 56.0, 539.0, 64.0  # points, on A4
# Below 11 points a Helvetica space is narrower than the 3 points at which PyMuPDF's find_tables() parts words.
BODY, HEADING, TITLE = 11.0, 13.0, 18.0
LEADING = 1.4

Row = Sequence[str]
Item = tuple[str, str] | tuple[str, Sequence[float], Sequence[Row]]

PAGES: tuple[tuple[Item, ...], ...] = (
    (
        ("title", "Plan de continuidad de negocio"),
        ("text", "Correvía, equipo de Plataforma. Versión 2.3, firmada el 22 de mayo de 2026 por Marta Soler."),
        ("heading", "1. Objeto"),
        (
            "text",
            "Este plan dice qué servicios se recuperan primero, en cuánto tiempo y con cuánta pérdida de datos "
            "admitida cuando falla algo más grande que un servicio: una zona, la región, un proveedor o la oficina. "
            "No sustituye a los procedimientos de cada servicio.",
        ),
        ("heading", "2. Prioridades de recuperación"),
        (
            "text",
            "RTO es el tiempo máximo sin servicio; RPO, los datos que se pueden perder, medidos en tiempo.",
        ),
        (
            "table",
            (110, 50, 70, 70, 183),
            (
                ("Servicio", "Orden", "RTO", "RPO", "Sin él no se puede"),
                ("llavero", "1", "20 minutos", "0", "entrar en ningún sitio"),
                ("bultos", "2", "30 minutos", "1 minuto", "imprimir etiquetas ni consultar"),
                ("faro", "3", "1 hora", "5 minutos", "ver el seguimiento"),
                ("cobro", "4", "2 horas", "0", "cobrar ni devolver"),
                ("rutero", "5", "4 horas", "24 horas", "salir con rutas nuevas"),
                ("avisos", "6", "4 horas", "15 minutos", "avisar al destinatario"),
                ("tablon", "7", "8 horas", "1 hora", "atender a comercios pequeños"),
            ),
        ),
        ("heading", "3. Pérdida de la región principal"),
        (
            "text",
            "La región principal es eu-south-2 y la de respaldo eu-west-1. Decide el comité de crisis, nunca una "
            "máquina: una conmutación a medias es peor que una hora de parada. Se da por perdida la región cuando "
            "dos de sus tres zonas llevan 25 minutos sin responder o cuando el proveedor lo confirma.",
        ),
        ("text", "Pasos: 1) cerrar la entrada en la CDN con la página de mantenimiento."),
        ("text", "2) Promover las réplicas de bultos-pg y cobro-pg en Irlanda."),
        ("text", "3) Ejecutar «muelle region activar eu-west-1»; crea 22 nodos y tarda unos 18 minutos."),
        ("text", "4) Cambiar el DNS, que tiene una caducidad de 60 segundos."),
        ("text", "5) Abrir la entrada al 10 %, comprobar durante cinco minutos y abrir del todo."),
        (
            "text",
            "La capacidad de respaldo es el 60 % de la normal. Los informes, las etiquetas en lote y el portal "
            "quedan apagados hasta la vuelta.",
        ),
    ),
    (
        ("heading", "4. Comité de crisis"),
        (
            "table",
            (150, 150, 183),
            (
                ("Papel", "Titular", "Suplente"),
                ("Dirección", "Marta Soler", "Lucía Ferrer"),
                ("Técnica", "Iñaki Zubiri", "Jonas Weber"),
                ("Operaciones", "Hugo Paredes", "jefatura de tráfico nocturno"),
                ("Comunicación", "Andreia Lopes", "Ciara Doyle"),
            ),
        ),
        (
            "text",
            "Basta con dos titulares para decidir. Se reúne en la sala Albufera de Valencia o, si no se puede "
            "llegar, en el puente telefónico.",
        ),
        ("heading", "5. Sin chat ni correo"),
        (
            "text",
            "El puente telefónico es de un operador distinto al de la oficina: extensión 7700, sala 4412. "
            "Cada miembro del comité lleva el número completo en la tarjeta roja, detrás del carné.",
        ),
        (
            "text",
            "A las naves se las avisa por la radio de los jefes de tráfico, canal 6. El mensaje se lee dos veces "
            "y se pide acuse de recibo nave por nave.",
        ),
        ("heading", "6. Naves sin sistema"),
        (
            "text",
            "Cada nave guarda un bloc de 400 etiquetas preimpresas con numeración reservada, que empieza por 99. "
            "Los repartidores salen con la hoja de ruta del día anterior, impresa a las 20:00, y apuntan las "
            "entregas a mano. Los lectores siguen guardando escaneos durante 14 horas.",
        ),
        ("heading", "7. Simulacros"),
        (
            "table",
            (130, 175, 85, 93),
            (
                ("Fecha", "Qué se ensayó", "Objetivo", "Conseguido"),
                ("14 de marzo de 2025", "restauración de cobro-pg", "2 horas", "1 h 35 min"),
                ("22 de octubre de 2025", "pérdida de una zona", "30 minutos", "41 minutos"),
                ("18 de marzo de 2026", "conmutación a Irlanda", "4 horas", "3 h 12 min"),
                ("21 de octubre de 2026", "nave de Valencia sin red", "una jornada", "previsto"),
            ),
        ),
        (
            "text",
            "Hay dos al año, en marzo y en octubre. El de octubre de 2025 no llegó al objetivo porque el balanceador "
            "tardó 12 minutos en retirar la zona caída; desde entonces se retira a mano con un solo botón.",
        ),
        ("heading", "8. Revisión"),
        (
            "text",
            "El plan se revisa cada seis meses y después de cualquier SEV1 de más de dos horas. La próxima revisión "
            "es el 23 de noviembre de 2026. Las copias en papel están en la caja fuerte de Valencia y en BIO-01.",
        ),
    ),
)


def wrap(text: str, size: float, width: float) -> list[str]:
    """Break text into lines no wider than `width` points."""
    lines: list[str] = []
    for word in text.split():
        candidate = f"{lines[-1]} {word}" if lines else word
        if lines and pymupdf.get_text_length(candidate, fontname="helv", fontsize=size) <= width:
            lines[-1] = candidate
        else:
            lines.append(word)
    return lines


def draw_table(page: pymupdf.Page, y: float, widths: Sequence[float], rows: Sequence[Row]) -> float:
    """Draw a ruled table, its first row in bold; return the y below it."""
    height = BODY * 1.75
    for number, row in enumerate(rows):
        x = LEFT
        for width, cell in zip(widths, row, strict=True):
            page.draw_rect((x, y, x + width, y + height), color=(0.5, 0.5, 0.5), width=0.5)
            font = "hebo" if number == 0 else "helv"
            page.insert_text((x + 5, y + height * 0.68), cell, fontsize=BODY, fontname=font)
            x += width
        y += height
    return y + BODY


def draw_page(page: pymupdf.Page, items: Sequence[Item]) -> None:
    """Lay the items out from the top, and refuse to run over the foot of the page."""
    y = TOP
    for item in items:
        if len(item) == 3:
            y = draw_table(page, y, item[1], item[2])
            continue
        kind, text = item
        size = {"title": TITLE, "heading": HEADING}.get(kind, BODY)
        y += 0 if kind == "text" else size * 0.7
        for line in wrap(text, size, RIGHT - LEFT):
            y += size * LEADING
            page.insert_text((LEFT, y), line, fontsize=size, fontname="helv" if kind == "text" else "hebo")
        y += size * 0.5
    if y > page.rect.height - TOP:
        raise ValueError(f"page {page.number + 1} is {y - page.rect.height + TOP:.0f} points too long")


def make_pdf(target: Path) -> None:
    """Write the continuity plan to `target`."""
    with pymupdf.open() as document:  # type: ignore[no-untyped-call]
        for number, items in enumerate(PAGES, start=1):
            page = document.new_page(width=595, height=842)
            draw_page(page, items)
            foot = f"Plan de continuidad, página {number} de {len(PAGES)}"
            page.insert_text((LEFT, 805), foot, fontsize=8, fontname="helv")
        date = "D:20260522100000Z"  # a fixed date: the file must not change from run to run
        document.set_metadata(
            {"title": "Plan de continuidad de negocio", "author": "Plataforma, Correvía", "creationDate": date}
        )
        document.save(target, garbage=4, deflate=True, no_new_id=True)


if __name__ == "__main__":
    make_pdf(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
