"""Models, GPU kinds and switching times for the generated workloads of family `hare`.

From the paper: models, classes and batch sizes (Table 2), switching times and their share of a
task's time (Table 3), the speedups of ResNet50 on T4 and V100 and of GraphSAGE on V100 (Section
2.2). Our choice: the other speedups (from the trend of Fig. 2), model sizes, and memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

CLASSES = ("CV", "NLP", "Speech", "Rec")
KINDS = ("K80", "M60", "T4", "V100")
SCHEMES: "tuple[Scheme, ...]" = ("default", "pipeswitch", "hare")  # rows of Table 3
Scheme = Literal["default", "pipeswitch", "hare"]
KIND_MEMORY = {  # memory of one GPU in GB, also for kinds that occur in traces
    "K80": 12.0, "M60": 8.0, "T4": 16.0, "V100": 16.0,
    "P100": 16.0, "V100M16": 16.0, "V100M32": 32.0, "A10": 24.0,
}  # fmt: skip


class Measured(NamedTuple):
    """An average switching time, and its share in switching and training together."""

    milliseconds: float
    percent: float

    @property
    def training(self) -> float:
        """The training time in milliseconds that the two numbers imply, t (1 - p) / p."""
        return self.milliseconds * (100 - self.percent) / self.percent


@dataclass(frozen=True, slots=True)
class Model:
    """One row of Table 2, with times."""

    name: str
    job_class: str
    batch_size: int
    batch_ms: float  # one mini-batch on V100: t (1 - p) / p of Table 3's row "Hare"
    speedups: Mapping[str, float]  # over K80, by kind
    size_mb: float  # parameters, MB = 10^6 bytes
    switching: Mapping[Scheme, Measured]  # Table 3; it names no GPU, and rows differ (E22)

    @property
    def memory_gb(self) -> float:
        """Memory for weights, gradients and optimizer state, plus 1 GB for activations."""
        return round(4 * self.size_mb / 1000 + 1, 3)


def _model(
    name: str,
    job_class: str,
    batch_size: int,
    batch_ms: float,
    speedups: tuple[float, float, float, float],
    size_mb: float,
    switching: Sequence[tuple[float, float]],
) -> Model:
    by_kind = dict(zip(KINDS, speedups, strict=True))
    measured = {scheme: Measured(*cell) for scheme, cell in zip(SCHEMES, switching, strict=True)}
    return Model(name, job_class, batch_size, batch_ms, by_kind, size_mb, measured)


MODELS = {
    model.name: model
    for model in (
        _model(
            "VGG19",
            "CV",
            128,
            149.4,
            (1, 1.6, 2.3, 6.5),
            548,
            ((3288.94, 98.21), (4.01, 2.4), (2.77, 1.82)),
        ),
        _model(
            "ResNet50",
            "CV",
            64,
            52.9,
            (1, 1.5, 2, 7),
            98,
            ((5961.16, 97.37), (4.75, 5.46), (2.04, 3.71)),
        ),
        _model(
            "InceptionV3",
            "CV",
            32,
            169.6,
            (1, 1.5, 2.2, 6),
            92,
            ((7807.43, 96.99), (5.03, 2.39), (2.46, 1.43)),
        ),
        _model(
            "Bert_base",
            "NLP",
            32,
            440.1,
            (1, 1.6, 2.8, 7.5),
            420,
            ((9016.99, 93.95), (12.57, 1.99), (5.03, 1.13)),
        ),
        _model(
            "Transformer",
            "NLP",
            128,
            419.9,
            (1, 1.5, 2.5, 6),
            240,
            ((5257.17, 95.41), (10.34, 2.03), (5.79, 1.36)),
        ),
        _model(
            "DeepSpeech",
            "Speech",
            8,
            337.3,
            (1, 1.4, 2, 4.5),
            150,
            ((5125.64, 94.15), (8.91, 1.59), (4.27, 1.25)),
        ),
        _model(
            "FastGCN",
            "Rec",
            128,
            38.6,
            (1, 1.2, 1.5, 2.2),
            2,
            ((5327.24, 98.47), (2.86, 7.56), (1.83, 4.53)),
        ),
        _model(
            "GraphSAGE",
            "Rec",
            16,
            27.6,
            (1, 1.2, 1.5, 2),
            2,
            ((5213.54, 98.29), (2.42, 8.64), (0.96, 3.36)),
        ),
    )
}


def models_of(job_class: str) -> tuple[Model, ...]:
    """Return the models of a class, in the order of Table 2.

    `job_class`: one of `CLASSES`.
    """
    return tuple(model for model in MODELS.values() if model.job_class == job_class)


# Part of a model's name in a trace, in lower case -> similar model of Table 2. The first part that
# occurs in the name counts; if none does, the model is drawn.
STAND_INS = {
    "vgg": "VGG19",
    "resnet": "ResNet50",
    "inception": "InceptionV3",
    "bert": "Bert_base",
    "transformer": "Transformer",
    "gpt": "Transformer",
    "lm (": "Transformer",
    "speech": "DeepSpeech",
    "gcn": "FastGCN",
    "graphsage": "GraphSAGE",
}


def stand_in(name: str | None) -> Model | None:
    """Return the model of Table 2 that is similar to a model in a trace, or None.

    `name`: name of the model in the trace.
    """
    lower = (name or "").lower()
    return next((MODELS[like] for part, like in STAND_INS.items() if part in lower), None)
