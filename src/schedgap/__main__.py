"""Run the command line as `python -m schedgap`."""

from schedgap.cli import main

if __name__ == "__main__":
    main()
