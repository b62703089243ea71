import { type Instance, OwnerType } from "../../../gen/core/object/v3alpha/object_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Found } from "../../../kernel/page.ts"
import { at } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { hasDomain } from "../../instance/index.ts"

/**
 * The instance that is meant must be the one that was called. The access rule looks at an id; a
 * domain is looked at here.
 */
export function on(cx: Cx, meant: Instance | undefined): Cx {
  const { case: by, value } = meant?.property ?? { case: undefined, value: undefined }
  if (by !== "domain" || hasDomain(cx, value)) return cx
  throw new Fault("not_found", "instance.missing", "there is no instance with this domain")
}

export const ownerOf = (cx: Cx) => ({ type: OwnerType.INSTANCE, id: cx.instance })

type Stand = { readonly id: string; readonly created: number; readonly changed: number }

export const details = (cx: Cx, { id, created, changed }: Stand) => ({
  id,
  created: at(created),
  changed: at(changed),
  owner: ownerOf(cx),
})

/** The page of a list; it is sorted upwards unless it says `desc`. */
export const ascending = (query: { offset: bigint; limit: number; desc: boolean } | undefined) => ({
  ...(query && { offset: query.offset, limit: query.limit }),
  asc: !query?.desc,
})

export const listDetails = (cx: Cx, { total, limit }: Found<unknown>) => ({
  appliedLimit: BigInt(limit),
  totalResult: BigInt(total),
  timestamp: at(cx.clock.now()),
})
