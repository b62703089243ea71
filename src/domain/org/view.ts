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
import { domainClaim, domainOf } from "./domain.ts"
import { domainIn, type OrgEvent, type OrgStatus, org, type ProofType } from "./model.ts"

const orgTable = table(
  "orgs",
  {
    id: text(),
    name: text(),
    name_folded: text(),
    /** The primary one. */
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

/** An organisation as it is listed. Times are ms UTC. */
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
    /** How it is to be proven; empty where nobody has asked. */
    validation: text<ProofType | "">(),
    created: integer(),
  },
  { key: ["org", "domain"], indexes: { domain: ["domain"] } },
)

/** A domain of an organisation as it is listed. */
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
      db.run(verify, { domain, isUnasked: isGenerated || isVouched })
      touch(db, event)
    },
    "org.domain.removed": (db, event) => {
      domainTable.remove(db, { org: event.id, domain: event.data.domain })
      touch(db, event)
    },
    "org.domain.primary.set": (db, event) => {
      const { domain } = event.data
      addDomain(db, event, domain)
      db.run(ownFirst, { domain })
      db.run(choose, { domain })
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

const one = orgTable.select("*", "AND id = $orgId")

/** One organisation as it is shown; faults where there is none. */
export function findOrg(cx: Cx, id: string): OrgRow {
  const row = cx.store.get(cx, one, { orgId: id })
  if (!row) throw new Fault("not_found", "org.missing", "there is no such organisation")
  return row
}

/** Of one organisation each domain stands once, so a list of one has a key. */
export const orgDomains = domainTable.searchable({
  columns: ["org", "domain_folded", "held", "created"],
  owner: { org: "org" },
  key: "domain",
  sort: "domain",
})

/** The organisation whose login names may end in a domain; undefined where it is nobody's. */
export function orgOfDomain(
  cx: Pick<Cx, "store" | "instance" | "clock">,
  domain: string,
): string | undefined {
  const key = domainOf(domain)
  const holder = cx.store.log.holder(cx.instance, domainClaim, key, cx.clock.now())
  return holder?.stream === org.stream ? holder.id : undefined
}

/**
 * The organisation that has proven that a domain is its own, or got it from us. What is held on
 * trust says nothing of whose it is, and names nobody.
 */
export function orgOfProvenDomain(cx: Cx, domain: string): string | undefined {
  const id = orgOfDomain(cx, domain)
  if (id === undefined) return undefined
  return domainIn(cx.store.state(cx, org, id), domainOf(domain))?.verified ? id : undefined
}

const some = orgTable.select(["id"], "LIMIT 2")

/** Whether an instance has no more than one organization. */
export const isOnlyOrg = (cx: Pick<Cx, "store" | "instance">): boolean =>
  cx.store.all(cx, some, {}).length < 2

const domains = { table: "org_domains", columns: ["org", "domain", "held"] } as const

/** What is of an organisation whose login names may end in a domain like this. */
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
