import { Fault } from "../../kernel/fault.ts"
import { type Cx, fold, type Searchable, statement, view } from "../../store/index.ts"
import type { OrgEvent, OrgStatus } from "./model.ts"

/** An organisation as it is listed. Times are ms UTC. */
export type OrgRow = {
  readonly id: string
  readonly name: string
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
const rename = statement(
  `UPDATE orgs SET name = $name, name_folded = $folded, changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)
const setDomain = statement(
  `UPDATE orgs SET domain = $domain, domain_folded = $domain, changed = $time,
     version = $version
   WHERE instance = $instance AND id = $id`,
)
const turn = statement(
  `UPDATE orgs SET state = $state, changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)

export const orgView = view<OrgEvent>({
  name: "org",
  tables: {
    orgs: {
      columns: `id TEXT NOT NULL, name TEXT NOT NULL, name_folded TEXT NOT NULL,
        domain TEXT NOT NULL, domain_folded TEXT NOT NULL, state TEXT NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL, version INTEGER NOT NULL`,
      key: "id",
      indexes: { name: "name_folded", created: "created" },
    },
  },
  on: {
    "org.added": (db, { data }) => db.run(insert, { name: data.name, folded: fold(data.name) }),
    "org.changed": (db, { data }) => db.run(rename, { name: data.name, folded: fold(data.name) }),
    "org.domain.primary.set": (db, { data }) => db.run(setDomain, { domain: data.domain }),
    "org.deactivated": (db) => db.run(turn, { state: "inactive" }),
    "org.reactivated": (db) => db.run(turn, { state: "active" }),
  },
})

export const orgs: Searchable = {
  table: "orgs",
  columns: ["name", "name_folded", "domain", "domain_folded", "state", "created"],
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
