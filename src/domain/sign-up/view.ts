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
  wordList,
} from "../../store/index.ts"
import { type OrgEvent, orgExists } from "../org/index.ts"
import {
  type SignUpLinkEvent,
  type SignUpRequestEvent,
  signUpLink,
  signUpRequest,
} from "./model.ts"

const linkTable = table(
  "sign_up_links",
  {
    id: text(),
    org: text(),
    use_limit: integer(),
    uses: integer(),
    /** 0 if it was never used. */
    last_used: integer(),
    expires: integer(),
    domains: wordList(),
    revoked: bool(),
    approval: bool(),
    created: integer(),
  },
  { key: ["id"], indexes: { org: ["org", "created"], created: ["created"] } },
)

/** A listed sign-up link; times are ms UTC. */
export type SignUpLinkRow = RowOf<typeof linkTable>

const countUse = statement(
  `UPDATE sign_up_links SET uses = uses + 1, last_used = $time
   WHERE instance = $instance AND id = $id`,
)

export const signUpLinkView = view<SignUpLinkEvent | OrgEvent>({
  name: "sign_up_link",
  tables: [linkTable],
  on: {
    "sign_up_link.added": (db, { id, owner, data, time }) =>
      linkTable.insert(db, {
        id,
        org: owner,
        use_limit: data.useLimit,
        uses: 0,
        last_used: 0,
        expires: data.expires,
        domains: data.domains,
        revoked: false,
        approval: data.requiresApproval ?? false,
        created: time,
      }),
    "sign_up_link.used": (db) => db.run(countUse),
    "sign_up_link.revoked": (db, { id }) => linkTable.update(db, { id }, { revoked: true }),
    "org.removed": (db, { id: org }) => linkTable.remove(db, { org }),
  },
})

export const signUpLinks = linkTable.searchable({
  columns: ["org", "created"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
})

/**
 * The owner chain of a link for access checks; undefined if it or its organization doesn't exist.
 */
export function findLinkChain(cx: Cx, id: string) {
  const { status, orgId } = cx.store.state(cx, signUpLink, id)
  const exists = status !== "absent" && orgExists(cx, orgId)
  return exists ? ({ instance: true, org: orgId } as const) : undefined
}

const requestTable = table(
  "sign_up_requests",
  {
    id: text(),
    org: text(),
    email: text(),
    given_name: text(),
    family_name: text(),
    /** Empty if none. */
    link: text(),
    expires: integer(),
    created: integer(),
  },
  { key: ["id"], indexes: { org: ["org", "created"], created: ["created"] } },
)

/** A listed sign-up that waits for approval; times are ms UTC. */
export type SignUpRequestRow = RowOf<typeof requestTable> & {
  /** Null if the organization was just deleted. */
  readonly org_name: string | null
}

const deleteRow = (db: ViewWriter, { id }: Pick<Envelope, "id">) => requestTable.remove(db, { id })

export const signUpRequestView = view<SignUpRequestEvent>({
  name: "sign_up_request",
  tables: [requestTable],
  on: {
    "sign_up_request.added": (db, { id, owner, data, private: applicant, time }) => {
      if (!applicant) return
      requestTable.insert(db, {
        id,
        org: owner,
        email: applicant.email,
        given_name: applicant.givenName,
        family_name: applicant.familyName,
        link: data.signUpLinkId ?? "",
        expires: data.expires,
        created: time,
      })
    },
    "sign_up_request.approved": deleteRow,
    "sign_up_request.refused": deleteRow,
  },
  onPruned: { sign_up_request: deleteRow },
})

export const signUpRequests = requestTable.searchable({
  columns: ["org", "expires", "created"],
  joined: {
    select: "o.name AS org_name",
    from: "LEFT JOIN orgs o ON o.instance = t.instance AND o.id = t.org",
    columns: [],
  },
  owner: { org: "org" },
  key: "id",
  sort: "created",
})

const selectByOrg = requestTable.select(["id"], "AND org = $orgId LIMIT $limit")

/** A batch of pending sign-ups of an organization. */
export const listPendingIds = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, selectByOrg, { orgId, limit }).map(({ id }) => id)

/**
 * The owner chain of a request for access checks; undefined if it or its organization doesn't
 * exist.
 */
export function findRequestChain(cx: Cx, id: string) {
  const { status, orgId } = cx.store.state(cx, signUpRequest, id)
  const exists = status !== "absent" && orgExists(cx, orgId)
  return exists ? ({ instance: true, org: orgId } as const) : undefined
}
