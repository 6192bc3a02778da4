"""Proof files with one thing changed."""

import copy
import random
from typing import Any


def tampered(rng: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    """Return a proof with one thing changed."""
    data = copy.deepcopy(data)
    tree, vectors = data["tree"], data["vectors"]
    match rng.randrange(10):
        case 0:
            del tree[rng.randrange(len(tree))]
        case 1:
            tree.insert(rng.randrange(len(tree) + 1), copy.deepcopy(rng.choice(tree)))
        case 2:
            i, j = rng.randrange(len(tree)), rng.randrange(len(tree))
            tree[i], tree[j] = tree[j], tree[i]
        case 3:
            node = rng.choice(tree)
            node.clear()
            node["v"] = rng.randrange(-1, len(vectors) + 1)
        case 4 if vectors:
            vector = rng.choice(vectors)
            vector["o"] = rng.choice([-vector["o"], 0, vector["o"] * 2, vector["o"] + 1, 1.0, None])
        case 5 if vectors:
            vector = rng.choice(vectors)
            if vector["d"]:
                pair = rng.choice(vector["d"])
                pair[rng.randrange(2)] += rng.choice([-1, 1, 7, -1000, 10**30, 0.5])
        case 6:
            node = rng.choice(tree)
            if "b" in node:
                node["b"][rng.randrange(len(node["b"]))] = rng.choice(["var", "row", 0, 1, 99, -1])
        case 7:
            node = rng.choice(tree)
            node["fix"] = [rng.randrange(len(vectors) + 1)]
        case 8 if data["cuts"]:
            cut = rng.choice(data["cuts"])
            cut[rng.choice(sorted(cut))] = rng.choice([0, 1, [], "cover", [[[0, 1], None]], None])
        case _:
            rng.choice(tree)["empty"] = True
    return data
