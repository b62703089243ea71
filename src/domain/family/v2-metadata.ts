import type { MetadataSearchFilter } from "../../gen/core/metadata/v2/metadata_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, deletion, filterMissingError, pagination } from "../../protocol/api/answer.ts"
import { type Cx, type Filter, type Searchable, search, textFilter } from "../../store/index.ts"
import type { Metadata, metadataOf } from "./metadata.ts"

type Member = Pick<ReturnType<typeof metadataOf>, "remove" | "set"> & {
  readonly entries: Searchable
  /** The column of `entries` that names the owner. */
  readonly column: string
}

type MetadataRow = {
  readonly meta_key: string
  readonly value: Uint8Array
  readonly created: number
  readonly changed: number
}

type ListRequest = {
  readonly pagination?: Parameters<typeof pageOf>[0]
  readonly filters: readonly MetadataSearchFilter[]
}

/** The operations of version 2 on the metadata of one kind of owner. */
export const metadataOperations = ({ set, remove, entries, column }: Member) => ({
  set: async (cx: Cx, id: string, metadata: readonly Metadata[]) => ({
    setDate: at((await set(cx, id, metadata)).changed),
  }),
  remove: async (cx: Cx, id: string, keys: readonly string[]) =>
    deletion(await remove(cx, id, keys)),
  /** All of one owner, which the access rule has let the caller look at. */
  list: async (cx: Cx, id: string, req: ListRequest) => {
    const scope = { all: true, orgs: [], projects: [], grants: [] }
    const found = await search<MetadataRow>({ ...cx, scope }, entries, {
      page: pageOf(req.pagination),
      filters: [{ equals: column, value: id }, ...req.filters.map(filterOf)],
    })
    return { pagination: pagination(found), metadata: found.rows.map(toMetadata) }
  },
})

function filterOf({ filter }: MetadataSearchFilter): Filter {
  if (filter.case === undefined) throw filterMissingError()
  return textFilter("meta_key", filter.value.key, filter.value.method)
}

const toMetadata = (row: MetadataRow) => ({
  key: row.meta_key,
  value: row.value,
  creationDate: at(row.created),
  changeDate: at(row.changed),
})
