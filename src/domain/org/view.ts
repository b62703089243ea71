import { Fault } from "../../kernel/fault.ts"
import {
  type Cx,
  type Filter,
  foldName,
  type Searchable,
  statement,
  type TextMethod,
  view,
} from "../../store/index.ts"
import { domainClaim, domainOf } from "./domain.ts"
import { domainIn, type OrgEvent, type OrgStatus, org, type ProofType } from "./model.ts"

/** An organisation as it is listed. Times are ms UTC. */
export type OrgRow = {
  readonly id: string
  readonly name: string
  /** The primary one. */
  readonly domain: string
  readonly state: OrgStatus
  readonly created: number
  readonly changed: number
  readonly version: number
}

const insert = statement(
  `INSERT INTO orgs (instance, id, name, name_folded, domain, domain_folded, state, created,
     changed, version)
   VALUES ($instance, $id, $name, $folded, '', '', 'active', $time, $time, $version)`,
)
const update = (columns: string) =>
  statement(
    `UPDATE orgs SET ${columns}${columns && ", "}changed = $time, version = $version
     WHERE instance = $instance AND id = $id`,
  )
const rename = update("name = $name, name_folded = $folded")
const setDomain = update("domain = $domain, domain_folded = $domain")
const turn = update("state = $state")
const touch = update("")
const remove = statement("DELETE FROM orgs WHERE instance = $instance AND id = $id")

const addDomain = statement(
  `INSERT INTO org_domains (instance, org, domain, domain_folded, held, verified, is_primary,
     validation, created)
   VALUES ($instance, $id, $domain, $domain, 0, 0, 0, '', $time) ON CONFLICT DO NOTHING`,
)
const askProof = statement(
  `UPDATE org_domains SET validation = $validationType
   WHERE instance = $instance AND org = $id AND domain = $domain`,
)
const trust = statement(
  `UPDATE org_domains SET held = 1
   WHERE instance = $instance AND org = $id AND domain = $domain`,
)
/** What was taken on trust once says that it is verified, but nobody was asked for a proof. */
const verify = statement(
  `UPDATE org_domains SET held = 1, verified = ($isUnasked OR validation <> '')
   WHERE instance = $instance AND org = $id AND domain = $domain`,
)
/** The first one is made by us, the others were proven before. */
const ownFirst = statement(
  `UPDATE org_domains SET held = 1, verified = 1
   WHERE instance = $instance AND org = $id AND domain = $domain
     AND (SELECT domain FROM orgs WHERE instance = $instance AND id = $id) = ''`,
)
const choose = statement(
  `UPDATE org_domains SET is_primary = (domain = $domain)
   WHERE instance = $instance AND org = $id`,
)
const removeDomain = statement(
  "DELETE FROM org_domains WHERE instance = $instance AND org = $id AND domain = $domain",
)
const removeDomains = statement("DELETE FROM org_domains WHERE instance = $instance AND org = $id")

export const orgView = view<OrgEvent>({
  name: "org",
  revision: 2,
  texts: { orgs: ["name", "name_folded", "domain", "domain_folded"] },
  tables: {
    orgs: {
      columns: `id TEXT NOT NULL, name TEXT NOT NULL, name_folded TEXT NOT NULL,
        domain TEXT NOT NULL, domain_folded TEXT NOT NULL, state TEXT NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL, version INTEGER NOT NULL`,
      key: "id",
      indexes: { name: "name_folded", created: "created", domain: "domain" },
    },
    org_domains: {
      columns: `org TEXT NOT NULL, domain TEXT NOT NULL, domain_folded TEXT NOT NULL,
        held INTEGER NOT NULL, verified INTEGER NOT NULL, is_primary INTEGER NOT NULL,
        validation TEXT NOT NULL, created INTEGER NOT NULL`,
      key: "org, domain",
      indexes: { domain: "domain" },
    },
  },
  on: {
    "org.added": (db, { data }) => db.run(insert, { name: data.name, folded: foldName(data.name) }),
    "org.changed": (db, { data }) =>
      db.run(rename, { name: data.name, folded: foldName(data.name) }),
    "org.deactivated": (db) => db.run(turn, { state: "inactive" }),
    "org.reactivated": (db) => db.run(turn, { state: "active" }),
    "org.removed": (db) => {
      db.run(remove)
      db.run(removeDomains)
    },
    "org.oidc.settings.set": (db) => db.run(touch),
    "org.domain.added": (db, { data: { domain } }) => {
      db.run(addDomain, { domain })
      db.run(touch)
    },
    "org.domain.verification.added": (db, { data: { domain, validationType } }) => {
      db.run(askProof, { domain, validationType })
      db.run(touch)
    },
    "org.domain.trusted": (db, { data: { domain } }) => {
      db.run(trust, { domain })
      db.run(touch)
    },
    "org.domain.verified": (db, { data: { domain, isGenerated = false, isVouched = false } }) => {
      db.run(verify, { domain, isUnasked: isGenerated || isVouched })
      db.run(touch)
    },
    "org.domain.removed": (db, { data: { domain } }) => {
      db.run(removeDomain, { domain })
      db.run(touch)
    },
    "org.domain.primary.set": (db, { data: { domain } }) => {
      db.run(addDomain, { domain })
      db.run(ownFirst, { domain })
      db.run(choose, { domain })
      db.run(setDomain, { domain })
    },
    "org.metadata.set": (db) => db.run(touch),
    "org.metadata.removed": (db) => db.run(touch),
  },
})

export const orgs: Searchable = {
  table: "orgs",
  columns: ["name", "name_folded", "domain", "domain_folded", "state", "created"],
  names: ["name"],
  owner: { org: "id" },
  key: "id",
  sort: "created",
}

const one = statement<OrgRow>("SELECT * FROM orgs WHERE instance = $instance AND id = $orgId")

/** One organisation as it is shown; faults where there is none. */
export function findOrg(cx: Cx, id: string): OrgRow {
  const row = cx.store.get(cx, one, { orgId: id })
  if (!row) throw new Fault("not_found", "org.missing", "there is no such organisation")
  return row
}

/** A domain of an organisation as it is listed; flags are 0 or 1. */
export type DomainRow = {
  readonly org: string
  readonly domain: string
  readonly verified: number
  readonly is_primary: number
  /** How it is to be proven; empty where nobody has asked. */
  readonly validation: ProofType | ""
  readonly created: number
}

/** Of one organisation each domain stands once, so a list of one has a key. */
export const orgDomains: Searchable = {
  table: "org_domains",
  columns: ["org", "domain_folded", "held", "created"],
  owner: { org: "org" },
  key: "domain",
  sort: "domain",
}

/** The organisation whose login names may end in a domain; undefined where it is nobody's. */
export function orgOfDomain(
  cx: Pick<Cx, "store" | "instance" | "clock">,
  text: string,
): string | undefined {
  const holder = cx.store.log.holder(cx.instance, domainClaim, domainOf(text), cx.clock.now())
  return holder?.stream === org.stream ? holder.id : undefined
}

/**
 * The organisation that has proven that a domain is its own, or got it from us. What is held on
 * trust says nothing of whose it is, and names nobody.
 */
export function orgOfProvenDomain(cx: Cx, text: string): string | undefined {
  const id = orgOfDomain(cx, text)
  if (id === undefined) return undefined
  return domainIn(cx.store.state(cx, org, id), domainOf(text))?.verified ? id : undefined
}

const some = statement<{ id: string }>("SELECT id FROM orgs WHERE instance = $instance LIMIT 2")

/** Whether an instance has no more than one organization. */
export const isOnlyOrg = (cx: Pick<Cx, "store" | "instance">): boolean =>
  cx.store.all(cx, some, {}).length < 2

const domains = { table: "org_domains", columns: ["org", "domain", "held"] } as const

/** What is of an organisation whose login names may end in a domain like this. */
export const inOrgWithDomain = (method: TextMethod, text: string): Filter => ({
  ...{ in: "org", column: "org", of: domains },
  where: {
    all: [
      { equals: "held", value: 1 },
      { text: "domain", method, value: text },
    ],
  },
})
