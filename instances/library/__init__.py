"""Small instances on which methods do badly, each with what is certified on it.

`<family>/*.json` are instance files. `meta.worst_case` of each has

- `method`, `options`, `objective`: what does badly, and the value of its schedule;
- `against`, `reference`: what it is compared with, the optimum for "exact", and the value of that;
- `ratio`: [low, high], high null where it is not known;
- `found`: seed, evaluations and seconds of the search, the number of workers, and `call`, the
  arguments with which `worst_case` searches again;
- `refutes`, `score`: the claim of the paper that the instance refutes, and how far it is missed.
"""

from importlib.resources import files

from schedgap.errors import UsageError, choices
from schedgap.instances.arguments import a_text, checked
from schedgap.instances.families import OWN, from_data
from schedgap.instances.instance import Instance
from schedgap.instances.records import parse_json


@checked(family=a_text)
def library(family: str | None = None) -> list[Instance]:
    """Return the instances on which methods are known to do badly, by family and name.

    Parameters
    ----------
    family : str, optional
        Name of the family; all families by default.
    """
    if family is not None and family not in OWN:
        raise UsageError(f"no family '{family}': {choices(family, OWN)}")
    found = []
    for name in [*OWN] if family is None else [family]:
        folder = files(__name__) / name
        if folder.is_dir():
            entries = sorted(folder.iterdir(), key=lambda file: file.name)
            found += [
                from_data(parse_json(file.read_bytes()))
                for file in entries
                if file.name.endswith(".json")
            ]
    return found
