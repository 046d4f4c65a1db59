"""OCR by RapidOCR: PP-OCRv6 models that come inside its wheel, run by OpenVINO where installed, else ONNX Runtime.

Its steps (find lines, tell upside-down ones, read) are called one by one for two reasons. The page's direction is
decided by all lines together, since single short lines are misjudged; and pictures are padded to a few fixed shapes,
since the runtimes keep compiled code and buffers for every shape they have seen (measured: 2 GB after a dozen pages).
"""

import logging
from importlib import util
from typing import TYPE_CHECKING, Any

from pipelines.parsing.ocr_reading import Reader, Reading, majority, ocr_line, settle_sizes
from pipelines.parsing.pdf_layout import Box

if TYPE_CHECKING:
    import numpy as np

    Picture = np.ndarray[Any, np.dtype[np.uint8]]

LONG_SIDE = 1920  # pixels; larger pictures are scaled down to it
CANVAS_STEP = 480  # pictures are padded to multiples of this
DETECTION_SIDE = 1280  # lines are looked for at this size, read at the full one; 1280 / 1920 * 480 is a multiple of 32
LINE_HEIGHT = 48  # the recognition model's input height
LINE_WIDTHS = (320, 480, 640, 800, 960, 1120, 1280, 1440, 1760, 2080, 2560, 3200)
LEAST_SCORE = 0.5
ELONGATED = 1.5  # the crop's proportion from which RapidOCR turns a tall one on its side
VOTING = 2.0  # crops less elongated say nothing about the page's direction


def open_reader() -> Reader:
    """Load the models (about 0.5 s). Raises ImportError when RapidOCR is not installed."""
    import rapidocr

    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    runtime = "OPENVINO" if util.find_spec("openvino") is not None else "ONNXRUNTIME"
    parameters: dict[str, Any] = {f"{part}.engine_type": rapidocr.EngineType[runtime] for part in ("Det", "Cls", "Rec")}
    parameters |= {
        "Global.log_level": "error",
        "Global.use_preprocess_img": False,
        "Global.use_vertical_padding": False,
        "Det.limit_type": "max",
        "Det.limit_side_len": DETECTION_SIDE,
        "Cls.cls_batch_num": 1,
        "Rec.rec_batch_num": 1,
    }
    engine = rapidocr.RapidOCR(params=parameters)

    def read(samples: bytes, width: int, height: int) -> Reading:
        return _read(engine, samples, width, height)

    return read


def _read(engine: Any, samples: bytes, width: int, height: int) -> Reading:
    from rapidocr.main import RapidOCRError

    canvas, scale = _canvas(samples, width, height)
    try:
        crops, detection = engine.detect_and_crop(canvas, {})
        _turned, directions = engine.cls_and_rotate(crops)
    except RapidOCRError:  # its way of saying that there is no text
        return Reading(())
    flipped = [label == "180" for label, _score in directions.cls_res]
    boxes = [_upright_box(corners, scale) for corners in detection.boxes]
    # Tall crops were turned counter-clockwise by detect_and_crop.
    turns = [_turns(box, flip) for box, flip in zip(boxes, flipped, strict=True)]
    page = majority(
        (turn, _elongation(box)) for turn, box in zip(turns, boxes, strict=True) if _elongation(box) > VOTING
    )
    lines = []
    upright = [_orient(crop, box, flip, page) for crop, box, flip in zip(crops, boxes, flipped, strict=True)]
    texts, scores = _recognize(engine, upright)
    for text, score, box in zip(texts, scores, boxes, strict=True):
        if score >= LEAST_SCORE and text.strip():
            lines.append(ocr_line(text, _turn_within(box, page, width, height)))
    return Reading(settle_sizes(lines), page)


def _canvas(samples: bytes, width: int, height: int) -> tuple["Picture", float]:
    """The picture in BGR, scaled down to LONG_SIDE if larger and padded with white; and the scale."""
    import cv2
    import numpy as np

    picture: Picture = np.frombuffer(samples, dtype=np.uint8).reshape(height, width, 3)[:, :, ::-1]
    scale = min(1.0, LONG_SIDE / max(width, height))
    if scale < 1.0:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        picture = np.asarray(cv2.resize(np.ascontiguousarray(picture), size, interpolation=cv2.INTER_AREA), np.uint8)
    padded = [-side % CANVAS_STEP + side for side in picture.shape[:2]]
    canvas = np.full((*padded, 3), 255, dtype=np.uint8)
    canvas[: picture.shape[0], : picture.shape[1]] = picture
    return canvas, scale


def _upright_box(corners: Any, scale: float) -> Box:
    xs, ys = corners[:, 0] / scale, corners[:, 1] / scale
    return float(xs.min()), float(ys.min()), float(xs.max()), float(ys.max())


def _is_tall(box: Box) -> bool:
    return (box[3] - box[1]) >= ELONGATED * (box[2] - box[0])


def _elongation(box: Box) -> float:
    short, long = sorted((max(box[2] - box[0], 1.0), max(box[3] - box[1], 1.0)))
    return long / short


def _turns(box: Box, flipped: bool) -> int:
    if _is_tall(box):
        return 1 if flipped else 3
    return 2 if flipped else 0


def _orient(crop: "Picture", box: Box, flipped: bool, page: int) -> "Picture":
    """The crop as it must be read: by the page's direction if the crop lies along it, else by its own."""
    import numpy as np

    if _is_tall(box):
        half_turn = page == 1 if page in (1, 3) else flipped
        return np.ascontiguousarray(np.rot90(crop, 2)) if half_turn else crop
    if page in (0, 2):
        return np.ascontiguousarray(np.rot90(crop, 2)) if page == 2 else crop
    if _elongation(box) < ELONGATED:  # a single letter or digit on a page that lies on its side
        return np.ascontiguousarray(np.rot90(crop, -page))
    return np.ascontiguousarray(np.rot90(crop, 2)) if flipped else crop


def _recognize(engine: Any, crops: list["Picture"]) -> tuple[list[str], list[float]]:
    if not crops:
        return [], []
    result = engine.recognize_txt([_pad_to_step(crop) for crop in crops])
    return list(result.txts), [float(score) for score in result.scores]


def _pad_to_step(crop: "Picture") -> "Picture":
    """The crop widened with mid-grey, the model's own padding, to the next of LINE_WIDTHS at the model's height."""
    import numpy as np

    height, width = crop.shape[:2]
    wanted = next((step for step in LINE_WIDTHS if step >= width * LINE_HEIGHT / height), LINE_WIDTHS[-1])
    missing = round(wanted * height / LINE_HEIGHT) - width
    if missing <= 0:
        return crop
    return np.pad(crop, ((0, 0), (0, missing), (0, 0)), constant_values=127)


def _turn_within(box: Box, turns: int, width: int, height: int) -> Box:
    """A box of the picture in the picture turned clockwise."""
    left, top, right, bottom = box
    for _ in range(turns):
        left, top, right, bottom = height - bottom, left, height - top, right
        width, height = height, width
    return left, top, right, bottom
