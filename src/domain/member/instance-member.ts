import type { Page, SearchResult } from "../../kernel/page.ts"
import { type Cx, type Filter, type Searchable, search } from "../../store/index.ts"
import { type AdministratorRow, administratorTable } from "./view.ts"

/** A listed administrator of an instance. Times are ms UTC. */
export type InstanceMemberRow = Pick<
  AdministratorRow,
  "user_id" | "roles" | "created" | "changed"
> & {
  readonly user_name: string
  readonly email: string
  readonly given_name: string
  readonly family_name: string
  readonly display_name: string
  readonly kind: "human" | "machine"
  readonly user_org: string
}

const members: Searchable = {
  table: `(SELECT a.instance, a.user_id, a.roles, a.created, a.changed, u.user_name, u.email,
      u.email_folded, u.given_name, u.given_name_folded, u.family_name, u.family_name_folded,
      u.display_name, u.kind, u.org AS user_org
    FROM administrators a JOIN users u ON u.instance = a.instance AND u.id = a.user_id
    WHERE a.level = 'instance')`,
  columns: [
    "created",
    "changed",
    "user_org",
    "email",
    "email_folded",
    "given_name",
    "given_name_folded",
    "family_name",
    "family_name_folded",
  ],
  decode: administratorTable.decode,
  names: ["given_name", "family_name"],
  owner: {},
  key: "user_id",
  sort: "created",
}

/** The administrators of the current instance; the caller can see all of them. */
export const searchInstanceMembers = (
  cx: Cx,
  query: { readonly page: Page; readonly sort: string; readonly filters: readonly Filter[] },
): Promise<SearchResult<InstanceMemberRow>> => search(cx, members, query)
