import { type Instance, OwnerType } from "../../../gen/core/object/v3alpha/object_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { SearchResult } from "../../../kernel/page.ts"
import { toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { hasDomain } from "../../instance/index.ts"

/**
 * The instance in the request must be the one of the call. The access rule checks an ID; a domain
 * is checked here.
 */
export function requireCalledInstance(cx: Cx, requested: Instance | undefined): Cx {
  const { case: by, value } = requested?.property ?? { case: undefined, value: undefined }
  if (by !== "domain" || hasDomain(cx, value)) return cx
  throw new Fault("not_found", "instance.missing", "instance not found")
}

export const ownerOf = (cx: Cx) => ({ type: OwnerType.INSTANCE, id: cx.instance })

type RowDates = { readonly id: string; readonly created: number; readonly changed: number }

export const details = (cx: Cx, { id, created, changed }: RowDates) => ({
  id,
  created: toTimestamp(created),
  changed: toTimestamp(changed),
  owner: ownerOf(cx),
})

/** The page of a list, in ascending order unless `desc` is set. */
export const ascending = (query: { offset: bigint; limit: number; desc: boolean } | undefined) => ({
  ...(query && { offset: query.offset, limit: query.limit }),
  asc: !query?.desc,
})

export const listDetails = (cx: Cx, { total, limit }: SearchResult<unknown>) => ({
  appliedLimit: BigInt(limit),
  totalResult: BigInt(total),
  timestamp: toTimestamp(cx.clock.now()),
})
