"""The HTTP framework: operations, error formats, forms, lists, session cookies, templates and texts.

It imports `platform` and `kernel`. Start with `operations.py`, which declares endpoints, and `services.py`,
which every action is given.
"""
