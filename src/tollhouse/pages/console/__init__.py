"""Pages and actions of operators: merchants, applications, projects, reviews, bank, deliveries and mail."""
