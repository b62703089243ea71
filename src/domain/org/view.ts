import { Fault } from "../../kernel/fault.ts"
import {
  bool,
  type ChangesOf,
  type Cx,
  type Envelope,
  type Filter,
  foldName,
  integer,
  type RowOf,
  statement,
  type TextMethod,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import { domainClaim, normalizeDomain } from "./domain.ts"
import { findDomain, type OrgEvent, type OrgStatus, org, type ProofType } from "./model.ts"

const orgTable = table(
  "orgs",
  {
    id: text(),
    name: text(),
    name_folded: text(),
    /** The primary domain. */
    domain: text(),
    domain_folded: text(),
    state: text<OrgStatus>(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  {
    key: ["id"],
    indexes: { name: ["name_folded"], created: ["created"], domain: ["domain"] },
    texts: ["name", "name_folded", "domain", "domain_folded"],
  },
)

/** An organization in a list. Times are in ms since the epoch. */
export type OrgRow = RowOf<typeof orgTable>

const domainTable = table(
  "org_domains",
  {
    org: text(),
    domain: text(),
    domain_folded: text(),
    held: bool(),
    verified: bool(),
    is_primary: bool(),
    /** The requested proof; empty if none was requested. */
    validation: text<ProofType | "">(),
    created: integer(),
  },
  { key: ["org", "domain"], indexes: { domain: ["domain"] } },
)

/** A domain of an organization in a list. */
export type DomainRow = RowOf<typeof domainTable>

const change = (
  db: ViewWriter,
  { id, time, version }: Envelope,
  changes: ChangesOf<typeof orgTable>,
) => orgTable.update(db, { id }, { ...changes, changed: time, version })

const touch = (db: ViewWriter, event: Envelope) => change(db, event, {})

const addDomain = (db: ViewWriter, { id: org, time }: Envelope, domain: string) =>
  domainTable.insertIfAbsent(db, {
    org,
    domain,
    domain_folded: domain,
    held: false,
    verified: false,
    is_primary: false,
    validation: "",
    created: time,
  })

/** Older unverified domains were recorded as verified, but without a requested proof. */
const markVerified = statement(
  `UPDATE org_domains SET held = 1, verified = ($isUnasked OR validation <> '')
   WHERE instance = $instance AND org = $id AND domain = $domain`,
)
/** The first domain is generated; the others were verified before. */
const markGeneratedFirst = statement(
  `UPDATE org_domains SET held = 1, verified = 1
   WHERE instance = $instance AND org = $id AND domain = $domain
     AND (SELECT domain FROM orgs WHERE instance = $instance AND id = $id) = ''`,
)
const setPrimary = statement(
  `UPDATE org_domains SET is_primary = (domain = $domain)
   WHERE instance = $instance AND org = $id`,
)

export const orgView = view<OrgEvent>({
  name: "org",
  revision: 2,
  tables: [orgTable, domainTable],
  on: {
    "org.added": (db, { id, data: { name }, time, version }) =>
      orgTable.insert(db, {
        id,
        name,
        name_folded: foldName(name),
        domain: "",
        domain_folded: "",
        state: "active",
        created: time,
        changed: time,
        version,
      }),
    "org.changed": (db, event) =>
      change(db, event, { name: event.data.name, name_folded: foldName(event.data.name) }),
    "org.deactivated": (db, event) => change(db, event, { state: "inactive" }),
    "org.reactivated": (db, event) => change(db, event, { state: "active" }),
    "org.removed": (db, { id }) => {
      orgTable.remove(db, { id })
      domainTable.remove(db, { org: id })
    },
    "org.oidc.settings.set": touch,
    "org.domain.added": (db, event) => {
      addDomain(db, event, event.data.domain)
      touch(db, event)
    },
    "org.domain.verification.added": (db, event) => {
      const { domain, validationType } = event.data
      domainTable.update(db, { org: event.id, domain }, { validation: validationType })
      touch(db, event)
    },
    "org.domain.trusted": (db, event) => {
      domainTable.update(db, { org: event.id, domain: event.data.domain }, { held: true })
      touch(db, event)
    },
    "org.domain.verified": (db, event) => {
      const { domain, isGenerated = false, isVouched = false } = event.data
      db.run(markVerified, { domain, isUnasked: isGenerated || isVouched })
      touch(db, event)
    },
    "org.domain.removed": (db, event) => {
      domainTable.remove(db, { org: event.id, domain: event.data.domain })
      touch(db, event)
    },
    "org.domain.primary.set": (db, event) => {
      const { domain } = event.data
      addDomain(db, event, domain)
      db.run(markGeneratedFirst, { domain })
      db.run(setPrimary, { domain })
      change(db, event, { domain, domain_folded: domain })
    },
    "org.metadata.set": touch,
    "org.metadata.removed": touch,
  },
})

export const orgs = orgTable.searchable({
  columns: ["name", "name_folded", "domain", "domain_folded", "state", "created"],
  names: ["name"],
  owner: { org: "id" },
  key: "id",
  sort: "created",
})

const orgStatement = orgTable.select("*", "AND id = $orgId")

/** One organization; throws if it does not exist. */
export function findOrg(cx: Cx, id: string): OrgRow {
  const row = cx.store.get(cx, orgStatement, { orgId: id })
  if (!row) throw new Fault("not_found", "org.missing", "organization not found")
  return row
}

/** A domain occurs once per organization, so a list of one organization has a key. */
export const orgDomains = domainTable.searchable({
  columns: ["org", "domain_folded", "held", "created"],
  owner: { org: "org" },
  key: "domain",
  sort: "domain",
})

/** The organization whose login names can end in a domain; undefined if there is none. */
export function findOrgByDomain(
  cx: Pick<Cx, "store" | "instance" | "clock">,
  domain: string,
): string | undefined {
  const key = normalizeDomain(domain)
  const holder = cx.store.log.holder(cx.instance, domainClaim, key, cx.clock.now())
  return holder?.stream === org.stream ? holder.id : undefined
}

/**
 * The organization that has verified a domain or got it generated. An unverified domain proves
 * nothing.
 */
export function findOrgByVerifiedDomain(cx: Cx, domain: string): string | undefined {
  const id = findOrgByDomain(cx, domain)
  if (id === undefined) return undefined
  return findDomain(cx.store.state(cx, org, id), normalizeDomain(domain))?.verified ? id : undefined
}

const someStatement = orgTable.select(["id"], "LIMIT 2")

/** Whether an instance has at most one organization. */
export const isOnlyOrg = (cx: Pick<Cx, "store" | "instance">): boolean =>
  cx.store.all(cx, someStatement, {}).length < 2

const domains = { table: "org_domains", columns: ["org", "domain", "held"] } as const

/** Matches rows of organizations with a login domain like this. */
export const inOrgWithDomain = (method: TextMethod, value: string): Filter => ({
  in: "org",
  column: "org",
  of: domains,
  where: {
    all: [
      { equals: "held", value: 1 },
      { text: "domain", method, value },
    ],
  },
})
