import {
  bool,
  type Cx,
  type Envelope,
  integer,
  type RowOf,
  statement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import { lifetimes, type SessionEvent } from "./model.ts"

const sessionTable = table(
  "user_sessions",
  {
    id: text(),
    user_id: text(),
    org: text(),
    creator: text(),
    agent: text(),
    created: integer(),
    /** Whether the lifetime was set; then checks no longer extend it. */
    fixed: bool(),
    expires: integer(),
  },
  {
    key: ["id"],
    indexes: {
      user: ["user_id"],
      org: ["org", "created"],
      creator: ["creator"],
      agent: ["agent"],
      created: ["created"],
      expires: ["expires"],
    },
  },
)

/** A session as listed; times are ms UTC. */
export type SessionRow = RowOf<typeof sessionTable>

/** Few sessions have a voucher, so it has its own table. */
const voucherTable = table(
  "session_vouchers",
  { id: text(), idp: text() },
  { key: ["id"], indexes: { idp: ["idp"] } },
)

const extendSession = (db: ViewWriter, { id, time }: Envelope) =>
  sessionTable.update(db, { id, fixed: false }, { expires: time + lifetimes.session })

const removeRows = (db: ViewWriter, { id }: Pick<Envelope, "id">) => {
  sessionTable.remove(db, { id })
  voucherTable.remove(db, { id })
}

/** The sessions of users and organizations, without those that ended. */
export const sessionView = view<SessionEvent>({
  name: "session",
  tables: [sessionTable, voucherTable],
  on: {
    "session.added": (db, { id, owner, data, private: secret, time }) =>
      sessionTable.insert(db, {
        id,
        user_id: data.userId,
        org: owner,
        // Users on our own login pages are the creators of their sessions.
        creator: data.creatorId ?? data.userId,
        agent: secret?.userAgent.fingerprintId ?? data.agentId,
        created: time,
        fixed: false,
        expires: time + lifetimes.unproven,
      }),
    "session.user.checked": (db, { id, data: { userId, orgId } }) =>
      sessionTable.update(db, { id }, { user_id: userId, org: orgId }),
    "session.password.checked": extendSession,
    "session.intent.checked": (db, event) => {
      extendSession(db, event)
      const { idpId } = event.data
      if (idpId !== undefined) voucherTable.upsert(db, { id: event.id, idp: idpId }, ["idp"])
    },
    "session.magic_link.checked": extendSession,
    "session.webAuthN.checked": (db, event) => event.data.userVerified && extendSession(db, event),
    "session.lifetime.set": (db, { id, data, time }) =>
      sessionTable.update(db, { id }, { expires: time + data.lifetimeSeconds * 1000, fixed: true }),
    "session.terminated": removeRows,
  },
  onPruned: { session: removeRows },
})

export const sessions = sessionTable.searchable({
  columns: ["user_id", "org", "creator", "agent", "created", "expires"],
  owner: { org: "org", self: "user_id" },
  key: "id",
  sort: "created",
})

const sessionsOfUser = sessionTable.select(["id"], "AND user_id = $userId ORDER BY id")

/** IDs of a user's sessions that have not ended, oldest first; some may have expired. */
export const sessionIdsOf = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, sessionsOfUser, { userId }).map(({ id }) => id)

const sessionsOfIdp = voucherTable.select(["id"], "AND idp = $idpId ORDER BY id")

/** IDs of sessions that a provider vouched for last and that have not ended. */
export const sessionIdsVouchedBy = (cx: Cx, idpId: string): readonly string[] =>
  cx.store.all(cx, sessionsOfIdp, { idpId }).map(({ id }) => id)

const nextVoucher = statement<{ idp: string | null }>(
  "SELECT min(idp) AS idp FROM session_vouchers WHERE instance = $instance AND idp > $after",
)

/** The providers that vouched for sessions that have not ended; each is listed once. */
export function* listVouchers(cx: Cx): Generator<string> {
  let after = ""
  for (;;) {
    const idp = cx.store.get(cx, nextVoucher, { after })?.idp ?? undefined
    if (idp === undefined) return
    yield idp
    after = idp
  }
}

/** The position of a session among those of an organization, oldest first. */
export type SessionPosition = Pick<SessionRow, "id" | "created">

const sessionsOfOrg = sessionTable.select(
  ["id", "created"],
  "AND org = $orgId AND (created, id) > ($created, $id) ORDER BY created, id LIMIT 100",
)

/** The first sessions of an organization's users, or those after a position. */
export const listSessionsOfOrg = (
  cx: Cx,
  orgId: string,
  { id, created }: SessionPosition = { id: "", created: 0 },
): readonly SessionPosition[] => cx.store.all(cx, sessionsOfOrg, { orgId, id, created })
