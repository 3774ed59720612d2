// oidc-provider with an adapter for PostgreSQL, in processes that share a port.
//
// PGHOST, PGUSER and PGDATABASE name the database. `node oidc.mjs serve PORT PROCESSES`. `node oidc.mjs create COUNT FILE`
// creates tables, grants, access and refresh tokens; `node oidc.mjs codes COUNT FILE` creates codes of these grants.

import cluster from 'node:cluster';
import crypto from 'node:crypto';
import fs from 'node:fs';
import pg from 'pg';
import { Provider } from 'oidc-provider';

const pool = new pg.Pool({ max: 10 });
const CLIENT = { id: 'benchmark', secret: 'benchmark-secret-benchmark-secret' };
const CALLBACK = 'https://app.example/callback';

const TABLE = `
  CREATE TABLE IF NOT EXISTS models (
    kind text NOT NULL, id text NOT NULL, payload jsonb NOT NULL, grant_id text, user_code text, uid text,
    expires_at timestamptz, consumed_at timestamptz, PRIMARY KEY (kind, id));
  CREATE INDEX IF NOT EXISTS models_grant ON models (grant_id);
  CREATE INDEX IF NOT EXISTS models_uid ON models (uid) WHERE uid IS NOT NULL;
  CREATE INDEX IF NOT EXISTS models_user_code ON models (user_code) WHERE user_code IS NOT NULL;
`;
const UPSERT = `
  INSERT INTO models (kind, id, payload, grant_id, user_code, uid, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7::float))
  ON CONFLICT (kind, id) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id,
    user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at
`;
const FIND = 'SELECT payload, expires_at, consumed_at FROM models WHERE kind = $1';

class Adapter {
  constructor(kind) {
    this.kind = kind;
  }

  async upsert(id, payload, expiresIn) {
    const values = [this.kind, id, payload, payload.grantId, payload.userCode, payload.uid, expiresIn ?? null];
    await pool.query({ name: 'upsert', text: UPSERT, values });
  }

  async read(name, condition, value) {
    const { rows: [row] } = await pool.query({ name, text: `${FIND} AND ${condition} = $2`, values: [this.kind, value] });
    if (!row || (row.expires_at && row.expires_at < new Date())) return undefined;
    return { ...row.payload, ...(row.consumed_at ? { consumed: Math.floor(row.consumed_at / 1000) } : undefined) };
  }

  find(id) { return this.read('find', 'id', id); }

  findByUid(uid) { return this.read('uid', 'uid', uid); }

  findByUserCode(code) { return this.read('code', 'user_code', code); }

  async consume(id) {
    const text = 'UPDATE models SET consumed_at = now() WHERE kind = $1 AND id = $2';
    await pool.query({ name: 'consume', text, values: [this.kind, id] });
  }

  async destroy(id) {
    await pool.query({ name: 'destroy', text: 'DELETE FROM models WHERE kind = $1 AND id = $2', values: [this.kind, id] });
  }

  async revokeByGrantId(id) {
    await pool.query({ name: 'revoke', text: 'DELETE FROM models WHERE grant_id = $1', values: [id] });
  }
}

const provider = new Provider('http://127.0.0.1', {
  adapter: Adapter,
  clients: [{
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'client_secret_post',
  }],
  scopes: ['openid', 'offline_access', 'account'],
  features: { devInteractions: { enabled: false }, introspection: { enabled: true } },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, business_name: `Merchant ${id}` }) }),
  claims: { openid: ['sub', 'business_name'] },
  rotateRefreshToken: true,
  ttl: { AccessToken: 900, AuthorizationCode: 900, Grant: 2592000, RefreshToken: 2592000 },
});

// So many at a time as there are connections.
async function each(count, create) {
  const made = new Array(count);
  let next = 0;
  await Promise.all(Array.from({ length: 10 }, async () => {
    while (next < count) {
      const place = next;
      next += 1;
      made[place] = await create(place);
    }
  }));
  return made;
}

async function create(count) {
  await pool.query(TABLE);
  const client = await provider.Client.find(CLIENT.id);
  const grants = await each(count, async (place) => {
    const grant = new provider.Grant({ accountId: `${place}`, clientId: CLIENT.id });
    grant.addOIDCScope('openid offline_access account');
    return grant.save();
  });
  const token = (Model, scope) => (place) => new Model({
    accountId: `${place}`, client, grantId: grants[place], scope, gty: 'authorization_code',
  }).save();
  const access = await each(count, token(provider.AccessToken, 'openid account'));
  const refresh = await each(count, token(provider.RefreshToken, 'offline_access account'));
  return { grants, access, refresh };
}

async function codes(count, file) {
  const { grants } = JSON.parse(fs.readFileSync(file));
  const client = await provider.Client.find(CLIENT.id);
  const codeChallenge = crypto.createHash('sha256').update(process.env.VERIFIER).digest('base64url');
  return each(count, (place) => new provider.AuthorizationCode({
    accountId: `${place % grants.length}`, client, grantId: grants[place % grants.length], scope: 'offline_access account',
    redirectUri: CALLBACK, codeChallenge, codeChallengeMethod: 'S256', gty: 'authorization_code',
  }).save());
}

const [command, first, second] = process.argv.slice(2);
if (command === 'create') {
  fs.writeFileSync(second, JSON.stringify(await create(Number(first))));
  await pool.end();
} else if (command === 'codes') {
  fs.writeFileSync(`${second}.codes`, JSON.stringify(await codes(Number(first), second)));
  await pool.end();
} else if (cluster.isPrimary) {
  for (let place = 0; place < Number(second); place += 1) cluster.fork();
  process.on('SIGTERM', () => process.exit());
} else {
  provider.listen(Number(first), '127.0.0.1');
}
