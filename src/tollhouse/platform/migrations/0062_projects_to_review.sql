-- transactional: false
-- How many projects wait for a review, and since when: asked by every scrape of the metrics and by the operator overview.
DROP INDEX CONCURRENTLY IF EXISTS projects_to_review;
CREATE INDEX CONCURRENTLY projects_to_review ON projects (updated_at) WHERE status = 'in_review';
