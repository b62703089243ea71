import type { MetadataSearchFilter } from "../../gen/core/metadata/v2/metadata_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import {
  filterMissingError,
  toDeletion,
  toPagination,
  toTimestamp,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, type Searchable, search, textFilter } from "../../store/index.ts"
import type { Metadata, metadataOf } from "./metadata.ts"

type MetadataOptions = Pick<ReturnType<typeof metadataOf>, "remove" | "set"> & {
  readonly entries: Searchable
  /** The column of `entries` that identifies the owner. */
  readonly column: string
}

type MetadataRow = {
  readonly meta_key: string
  readonly value: Uint8Array
  readonly created: number
  readonly changed: number
}

type ListRequest = {
  readonly pagination?: Parameters<typeof parsePage>[0]
  readonly filters: readonly MetadataSearchFilter[]
}

/** Operations of version 2 on the metadata of one kind of owner. */
export const metadataOperations = ({ set, remove, entries, column }: MetadataOptions) => ({
  set: async (cx: Cx, id: string, metadata: readonly Metadata[]) => ({
    setDate: toTimestamp((await set(cx, id, metadata)).changed),
  }),
  remove: async (cx: Cx, id: string, keys: readonly string[]) =>
    toDeletion(await remove(cx, id, keys)),
  /** Lists all entries of one owner; the access rule has already authorized the caller. */
  list: async (cx: Cx, id: string, req: ListRequest) => {
    const scope = { all: true, orgs: [], projects: [], grants: [] }
    const result = await search<MetadataRow>({ ...cx, scope }, entries, {
      page: parsePage(req.pagination),
      filters: [{ equals: column, value: id }, ...req.filters.map(filterOf)],
    })
    return { pagination: toPagination(result), metadata: result.rows.map(toMetadata) }
  },
})

function filterOf({ filter }: MetadataSearchFilter): Filter {
  if (filter.case === undefined) throw filterMissingError()
  return textFilter("meta_key", filter.value.key, filter.value.method)
}

const toMetadata = (row: MetadataRow) => ({
  key: row.meta_key,
  value: row.value,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
})
