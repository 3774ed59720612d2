"""`python -m tollhouse`."""

from tollhouse.cli.main import main

if __name__ == "__main__":
    main()
