import type { Scope } from "../../../kernel/context.ts"
import type { Page, SearchResult } from "../../../kernel/page.ts"
import { type Cx, type Filter, type Searchable, search } from "../../../store/index.ts"
import { visibleBy } from "../view.ts"
import { type GroupAdministratorRow, groupAdministratorTable } from "./view.ts"

const groupAdministrators: Searchable = {
  table: `(SELECT a.*, g.name AS group_name, g.name_folded AS group_name_folded,
      o.name AS org_name, p.name AS project_name, p.org AS project_org
    FROM group_administrators a
    JOIN groups g ON g.instance = a.instance AND g.id = a.group_id
    LEFT JOIN orgs o ON o.instance = a.instance AND o.id = a.org
    LEFT JOIN projects p ON p.instance = a.instance AND p.id = a.project)`,
  columns: [
    "level",
    "target",
    "group_id",
    "group_org",
    "org",
    "roles",
    "created",
    "changed",
    "project",
    "project_org",
    "group_name",
    "group_name_folded",
  ],
  decode: groupAdministratorTable.decode,
  names: ["group_name"],
  owner: {},
  key: "id",
  sort: "created",
}

/** Searches administrator roles of groups; each level has its own permission to see them. */
export function searchGroupAdministrators(
  cx: Cx,
  query: { readonly page: Page; readonly sort: string; readonly filters: readonly Filter[] },
): Promise<SearchResult<GroupAdministratorRow>> {
  const kinds = cx.scope?.kinds
  if (!kinds) throw new Error("a search of administrators requires the scope of each level")
  const all: Scope = { all: true, orgs: [], projects: [], grants: [] }
  const filters = [{ any: visibleBy(kinds) }, ...query.filters]
  return search({ ...cx, scope: all }, groupAdministrators, { ...query, filters })
}
