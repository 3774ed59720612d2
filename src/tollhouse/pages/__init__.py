"""HTML pages: the dashboard of merchants, the checkout of customers, and the console of operators.

They call the same actions as the API. They import `rails` and what is below. Start with `dashboard/home/home.py`.
"""
