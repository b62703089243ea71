import { share } from "../../../api/method.ts"
import type { MetadataSearchFilter } from "../../../gen/core/metadata/v2/metadata_pb.ts"
import {
  type ListUserMetadataRequest,
  UserService,
} from "../../../gen/core/user/v2/user_service_pb.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, filterMissingError, pagination } from "../../../protocol/api/answer.ts"
import { type Cx, type Filter, type Receipt, search, textFilter } from "../../../store/index.ts"
import { removeMetadata, setMetadata } from "../metadata.ts"
import { type MetadataRow, metadataEntries } from "../metadata-view.ts"

/** What is noted about users. */
export const v2metadata = share<Cx>()(UserService, {
  setUserMetadata: async ({ userId, metadata }, cx) => {
    const { changed } = await setMetadata(cx, userId, metadata)
    return { setDate: at(changed) }
  },
  deleteUserMetadata: async ({ userId, keys }, cx) =>
    removed(await removeMetadata(cx, userId, keys)),
  listUserMetadata: (req, cx) => list(cx, req),
})

/** Without a date where there was none of the keys. */
const removed = (receipt: Receipt | undefined) =>
  receipt ? { deletionDate: at(receipt.changed) } : {}

/** All of one user, whom the access rule has let the caller look at. */
async function list(cx: Cx, req: ListUserMetadataRequest) {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const found = await search<MetadataRow>({ ...cx, scope }, metadataEntries, {
    page: pageOf(req.pagination),
    filters: [{ equals: "user_id", value: req.userId }, ...req.filters.map(filterOf)],
  })
  return { pagination: pagination(found), metadata: found.rows.map(toMetadata) }
}

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
