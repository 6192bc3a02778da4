"""What the generator fills in where the paper is silent."""

from collections import Counter

from schedgap.instances.generate import generate

CLASSES = {
    "CV": {"VGG19", "ResNet50", "InceptionV3"},
    "NLP": {"Bert_base", "Transformer"},
    "Speech": {"DeepSpeech"},
    "Rec": {"FastGCN", "GraphSAGE"},
}


def test_models_are_uniform_within_their_class() -> None:
    """A chi-square below the 99.9 % quantile in each class: 13.8 for two degrees, 10.8 for one."""
    jobs = generate("hare", preset="paper", seed=5, settings={"jobs": 3000}).to_data()["jobs"]
    counts = Counter(job["model"] for job in jobs)
    assert set(counts) == set().union(*CLASSES.values())
    for models in CLASSES.values():
        mean = sum(counts[model] for model in models) / len(models)
        assert abs(mean * len(models) - 750) < 100  # a quarter of all, four deviations wide
        spread = sum((counts[model] - mean) ** 2 / mean for model in models)
        assert spread < {1: 0.001, 2: 10.8, 3: 13.8}[len(models)]


def test_arrivals_are_sorted_and_span_what_was_asked() -> None:
    """The mean of the last of 200 arrivals over ten seeds is the span, give or take a tenth."""
    last = []
    for seed in range(10):
        jobs = generate(
            "hare", preset="paper", seed=seed, settings={"arrival_span": 600}
        ).to_data()["jobs"]
        arrivals = [job["arrival"] for job in jobs]
        assert arrivals == sorted(arrivals)
        assert len(set(arrivals)) > 150
        last.append(arrivals[-1])
    assert abs(sum(last) / len(last) - 600) < 60
