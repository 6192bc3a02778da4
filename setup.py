"""Map the folders at the top of the repository to subpackages of `schedgap`."""

from setuptools import find_packages, setup

ROOMS = ("models", "solvers", "instances", "analysis")
package_dir = {"schedgap": "src/schedgap"}
packages = ["schedgap"]
packages += [f"schedgap.{name}" for name in ("cli", "show", "steps", "teach", "template")]
for room in ROOMS:
    package_dir[f"schedgap.{room}"] = room
    packages += [f"schedgap.{room}", *(f"schedgap.{room}.{name}" for name in find_packages(room))]
setup(packages=packages, package_dir=package_dir)
