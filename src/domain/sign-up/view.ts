import { type Cx, type Searchable, statement, view } from "../../store/index.ts"
import { isOrgThere, type OrgEvent } from "../org/index.ts"
import {
  type SignUpLinkEvent,
  type SignUpRequestEvent,
  signUpLink,
  signUpRequest,
} from "./model.ts"

/** A sign-up link as it is listed; times are ms UTC. */
export type SignUpLinkRow = {
  readonly id: string
  readonly org: string
  readonly use_limit: number
  readonly uses: number
  /** 0 until it is used. */
  readonly last_used: number
  readonly expires: number
  /** Joined with spaces. */
  readonly domains: string
  readonly revoked: number
  readonly approval: number
  readonly created: number
}

const insert = statement(
  `INSERT INTO sign_up_links
     (instance, id, org, use_limit, uses, last_used, expires, domains, revoked, approval, created)
   VALUES ($instance, $id, $owner, $useLimit, 0, 0, $expires, $domains, 0, $approval, $time)`,
)
const use = statement(
  `UPDATE sign_up_links SET uses = uses + 1, last_used = $time
   WHERE instance = $instance AND id = $id`,
)
const revoke = statement(
  "UPDATE sign_up_links SET revoked = 1 WHERE instance = $instance AND id = $id",
)
const removeAll = statement("DELETE FROM sign_up_links WHERE instance = $instance AND org = $id")

export const signUpLinkView = view<SignUpLinkEvent | OrgEvent>({
  name: "sign_up_link",
  tables: {
    sign_up_links: {
      columns: `id TEXT NOT NULL, org TEXT NOT NULL, use_limit INTEGER NOT NULL,
        uses INTEGER NOT NULL, last_used INTEGER NOT NULL, expires INTEGER NOT NULL,
        domains TEXT NOT NULL, revoked INTEGER NOT NULL, approval INTEGER NOT NULL,
        created INTEGER NOT NULL`,
      key: "id",
      indexes: { org: "org, created", created: "created" },
    },
  },
  on: {
    "sign_up_link.added": (db, { data: { useLimit, expires, domains, requiresApproval } }) =>
      db.run(insert, {
        ...{ useLimit, expires, domains: domains.join(" ") },
        approval: requiresApproval ? 1 : 0,
      }),
    "sign_up_link.used": (db) => db.run(use),
    "sign_up_link.revoked": (db) => db.run(revoke),
    "org.removed": (db) => db.run(removeAll),
  },
})

export const signUpLinks: Searchable = {
  table: "sign_up_links",
  columns: ["org", "created"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
}

/** What the access to a link hangs from; undefined where it, or its organization, is gone. */
export function signUpLinkChain(cx: Cx, id: string) {
  const { status, orgId } = cx.store.state(cx, signUpLink, id)
  const isThere = status !== "absent" && isOrgThere(cx, orgId)
  return isThere ? ({ instance: true, org: orgId } as const) : undefined
}

/** A sign-up that waits for approval, as it is listed; times are ms UTC. */
export type SignUpRequestRow = {
  readonly id: string
  readonly org: string
  /** Null where the organization was just deleted. */
  readonly org_name: string | null
  readonly email: string
  readonly given_name: string
  readonly family_name: string
  /** Empty for none. */
  readonly link: string
  readonly expires: number
  readonly created: number
}

const insertRequest = statement(
  `INSERT INTO sign_up_requests
     (instance, id, org, email, given_name, family_name, link, expires, created)
   VALUES ($instance, $id, $owner, $email, $givenName, $familyName, $link, $expires, $time)`,
)
const removeRequest = statement(
  "DELETE FROM sign_up_requests WHERE instance = $instance AND id = $id",
)

export const signUpRequestView = view<SignUpRequestEvent>({
  name: "sign_up_request",
  tables: {
    sign_up_requests: {
      columns: `id TEXT NOT NULL, org TEXT NOT NULL, email TEXT NOT NULL,
        given_name TEXT NOT NULL, family_name TEXT NOT NULL, link TEXT NOT NULL,
        expires INTEGER NOT NULL, created INTEGER NOT NULL`,
      key: "id",
      indexes: { org: "org, created", created: "created" },
    },
  },
  on: {
    "sign_up_request.added": (db, { data: { expires, signUpLinkId }, private: applicant }) => {
      if (!applicant) return
      const { email, givenName, familyName } = applicant
      db.run(insertRequest, { email, givenName, familyName, expires, link: signUpLinkId ?? "" })
    },
    "sign_up_request.approved": (db) => db.run(removeRequest),
    "sign_up_request.refused": (db) => db.run(removeRequest),
  },
  dropped: { sign_up_request: (db) => db.run(removeRequest) },
})

export const signUpRequests: Searchable = {
  table: "sign_up_requests",
  columns: ["org", "expires", "created"],
  joined: {
    select: "o.name AS org_name",
    from: "LEFT JOIN orgs o ON o.instance = t.instance AND o.id = t.org",
    columns: [],
  },
  owner: { org: "org" },
  key: "id",
  sort: "created",
}

const ofOrg = statement<{ id: string }>(
  "SELECT id FROM sign_up_requests WHERE instance = $instance AND org = $orgId LIMIT $limit",
)

/** Some of the sign-ups that wait in an organization. */
export const waitingIds = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, ofOrg, { orgId, limit }).map(({ id }) => id)

/** What the access to a request hangs from; undefined where it, or its organization, is gone. */
export function signUpRequestChain(cx: Cx, id: string) {
  const { status, orgId } = cx.store.state(cx, signUpRequest, id)
  const isThere = status !== "absent" && isOrgThere(cx, orgId)
  return isThere ? ({ instance: true, org: orgId } as const) : undefined
}
