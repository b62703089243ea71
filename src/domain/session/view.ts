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
    /** Whether its lifetime was set; checks then no longer prolong it. */
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

/** A session as it is listed; times are ms UTC. */
export type SessionRow = RowOf<typeof sessionTable>

/** Few sessions have a voucher: a table of its own costs the others nothing. */
const voucherTable = table(
  "session_vouchers",
  { id: text(), idp: text() },
  { key: ["id"], indexes: { idp: ["idp"] } },
)

const prolong = (db: ViewWriter, { id, time }: Envelope) =>
  sessionTable.update(db, { id, fixed: false }, { expires: time + lifetimes.session })

const gone = (db: ViewWriter, { id }: Pick<Envelope, "id">) => {
  sessionTable.remove(db, { id })
  voucherTable.remove(db, { id })
}

/** Which sessions a person has, or all of an organisation; those that were ended are gone. */
export const sessionView = view<SessionEvent>({
  name: "session",
  tables: [sessionTable, voucherTable],
  on: {
    "session.added": (db, { id, owner, data, private: secret, time }) =>
      sessionTable.insert(db, {
        id,
        user_id: data.userId,
        org: owner,
        // Whoever signs in on our pages makes their session themself.
        creator: data.creatorId ?? data.userId,
        agent: secret?.userAgent.fingerprintId ?? data.agentId,
        created: time,
        fixed: false,
        expires: time + lifetimes.unproven,
      }),
    "session.user.checked": (db, { id, data: { userId, orgId } }) =>
      sessionTable.update(db, { id }, { user_id: userId, org: orgId }),
    "session.password.checked": prolong,
    "session.intent.checked": (db, event) => {
      prolong(db, event)
      const { idpId } = event.data
      if (idpId !== undefined) voucherTable.upsert(db, { id: event.id, idp: idpId }, ["idp"])
    },
    "session.magic_link.checked": prolong,
    "session.webAuthN.checked": (db, event) => event.data.userVerified && prolong(db, event),
    "session.lifetime.set": (db, { id, data, time }) =>
      sessionTable.update(db, { id }, { expires: time + data.lifetimeSeconds * 1000, fixed: true }),
    "session.terminated": gone,
  },
  dropped: { session: gone },
})

export const sessions = sessionTable.searchable({
  columns: ["user_id", "org", "creator", "agent", "created", "expires"],
  owner: { org: "org", self: "user_id" },
  key: "id",
  sort: "created",
})

const ofUser = sessionTable.select(["id"], "AND user_id = $userId ORDER BY id")

/** The sessions of a person that nobody has ended, oldest first; time may have. */
export const sessionsOf = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, ofUser, { userId }).map(({ id }) => id)

const ofIdp = voucherTable.select(["id"], "AND idp = $idpId ORDER BY id")

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
export type SessionPosition = Pick<SessionRow, "id" | "created">

const ofOrg = sessionTable.select(
  ["id", "created"],
  "AND org = $orgId AND (created, id) > ($created, $id) ORDER BY created, id LIMIT 100",
)

/** The first of the sessions of an organisation's people, or of those that come after one. */
export const sessionsIn = (
  cx: Cx,
  orgId: string,
  { id, created }: SessionPosition = { id: "", created: 0 },
): readonly SessionPosition[] => cx.store.all(cx, ofOrg, { orgId, id, created })
