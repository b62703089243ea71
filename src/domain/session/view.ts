import { type Cx, type Searchable, statement, type ViewWriter, view } from "../../store/index.ts"
import { lifetimes, type SessionEvent } from "./model.ts"

/** A session as it is listed; times are ms UTC. */
export type SessionRow = {
  readonly id: string
  readonly user_id: string
  readonly org: string
  readonly expires: number
}

const insert = statement(
  `INSERT INTO user_sessions (instance, id, user_id, org, creator, agent, created, fixed, expires)
   VALUES ($instance, $id, $userId, $owner, $creator, $agent, $time, 0, $expires)`,
)
const settle = statement(
  `UPDATE user_sessions SET user_id = $userId, org = $orgId
   WHERE instance = $instance AND id = $id`,
)
const prolong = statement(
  `UPDATE user_sessions SET expires = $expires
   WHERE instance = $instance AND id = $id AND fixed = 0`,
)
const fix = statement(
  `UPDATE user_sessions SET expires = $expires, fixed = 1
   WHERE instance = $instance AND id = $id`,
)
const vouch = statement(
  `INSERT OR REPLACE INTO session_vouchers (instance, id, idp) VALUES ($instance, $id, $idpId)`,
)
const unvouch = statement("DELETE FROM session_vouchers WHERE instance = $instance AND id = $id")
const remove = statement("DELETE FROM user_sessions WHERE instance = $instance AND id = $id")

const gone = (db: ViewWriter) => {
  db.run(remove)
  db.run(unvouch)
}

/** Which sessions a person has, or all of an organisation; those that were ended are gone. */
export const sessionView = view<SessionEvent>({
  name: "session",
  tables: {
    user_sessions: {
      columns: `id TEXT NOT NULL, user_id TEXT NOT NULL, org TEXT NOT NULL,
        creator TEXT NOT NULL, agent TEXT NOT NULL, created INTEGER NOT NULL,
        fixed INTEGER NOT NULL, expires INTEGER NOT NULL`,
      key: "id",
      indexes: {
        user: "user_id",
        org: "org, created",
        creator: "creator",
        agent: "agent",
        created: "created",
        expires: "expires",
      },
    },
    // Few sessions have one: a table of its own costs the others nothing.
    session_vouchers: {
      columns: "id TEXT NOT NULL, idp TEXT NOT NULL",
      key: "id",
      indexes: { idp: "idp" },
    },
  },
  on: {
    "session.added": (db, { data: { userId, agentId, creatorId }, private: secret, time }) =>
      db.run(insert, {
        userId,
        // Whoever signs in on our pages makes their session themself.
        creator: creatorId ?? userId,
        agent: secret?.userAgent.fingerprintId ?? agentId,
        expires: time + lifetimes.unproven,
      }),
    "session.user.checked": (db, { data: { userId, orgId } }) => db.run(settle, { userId, orgId }),
    "session.password.checked": (db, { time }) =>
      db.run(prolong, { expires: time + lifetimes.session }),
    "session.intent.checked": (db, { data: { idpId }, time }) => {
      db.run(prolong, { expires: time + lifetimes.session })
      if (idpId !== undefined) db.run(vouch, { idpId })
    },
    "session.magic_link.checked": (db, { time }) =>
      db.run(prolong, { expires: time + lifetimes.session }),
    "session.webAuthN.checked": (db, { data, time }) =>
      data.userVerified && db.run(prolong, { expires: time + lifetimes.session }),
    "session.lifetime.set": (db, { data, time }) =>
      db.run(fix, { expires: time + data.lifetimeSeconds * 1000 }),
    "session.terminated": gone,
  },
  dropped: { session: gone },
})

export const sessions: Searchable = {
  table: "user_sessions",
  columns: ["user_id", "org", "creator", "agent", "created", "expires"],
  owner: { org: "org", self: "user_id" },
  key: "id",
  sort: "created",
}

const ofUser = statement<{ id: string }>(
  "SELECT id FROM user_sessions WHERE instance = $instance AND user_id = $userId ORDER BY id",
)

/** The sessions of a person that nobody has ended, oldest first; time may have. */
export const sessionsOf = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, ofUser, { userId }).map(({ id }) => id)

const ofIdp = statement<{ id: string }>(
  "SELECT id FROM session_vouchers WHERE instance = $instance AND idp = $idpId ORDER BY id",
)

/** The sessions that a provider has vouched for last, and that nobody has ended. */
export const sessionsVouchedBy = (cx: Cx, idpId: string): readonly string[] =>
  cx.store.all(cx, ofIdp, { idpId }).map(({ id }) => id)

const nextVoucher = statement<{ idp: string | null }>(
  "SELECT min(idp) AS idp FROM session_vouchers WHERE instance = $instance AND idp > $after",
)

/** The providers that have vouched for sessions which nobody has ended; many have one. */
export function* sessionVouchers(cx: Cx): Generator<string> {
  let after = ""
  for (;;) {
    const idp = cx.store.get(cx, nextVoucher, { after })?.idp ?? undefined
    if (idp === undefined) return
    yield idp
    after = idp
  }
}

/** Where a session stands among those of an organisation's people, oldest first. */
export type Placed = { readonly id: string; readonly created: number }

const ofOrg = statement<Placed>(
  `SELECT id, created FROM user_sessions
   WHERE instance = $instance AND org = $orgId AND (created, id) > ($created, $id)
   ORDER BY created, id LIMIT 100`,
)

/** The first of the sessions of an organisation's people, or of those that come after one. */
export const sessionsIn = (
  cx: Cx,
  orgId: string,
  { id, created }: Placed = { id: "", created: 0 },
): readonly Placed[] => cx.store.all(cx, ofOrg, { orgId, id, created })
