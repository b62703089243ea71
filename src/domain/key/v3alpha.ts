import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../api/method.ts"
import { type Instance, OwnerType } from "../../gen/core/object/v3alpha/object_pb.ts"
import {
  type GetWebKeySchema,
  WebKeyState,
} from "../../gen/core/resources/webkey/v3alpha/webkey_pb.ts"
import { CoreWebKeys } from "../../gen/core/resources/webkey/v3alpha/webkey_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { hasDomain } from "../instance/index.ts"
import { activateWebKey, createWebKey, deleteWebKey } from "./commands.ts"
import { formatKeyKind, parseKeyKind } from "./config.ts"
import { listWebKeys, type WebKeyRow } from "./view.ts"

export const v3alpha = bindHandlers<Cx>()(CoreWebKeys, {
  createWebKey: async ({ instance, key }, cx) => ({
    details: details(
      cx,
      await createWebKey(
        requireInstanceMatch(cx, instance),
        parseKeyKind(key?.config ?? emptyOneof),
      ),
    ),
  }),
  activateWebKey: async ({ instance, id }, cx) => ({
    details: details(cx, await activateWebKey(requireInstanceMatch(cx, instance), id)),
  }),
  deleteWebKey: async ({ instance, id }, cx) => ({
    details: details(cx, { id, ...(await deleteWebKey(requireInstanceMatch(cx, instance), id)) }),
  }),
  listWebKeys: ({ instance }, cx) => ({
    webKeys: listWebKeys(requireInstanceMatch(cx, instance)).map((row) => toWebKey(cx, row)),
  }),
})

const emptyOneof = { case: undefined, value: undefined } as const

/**
 * The requested instance must be the called one. The access rule checks IDs; domains are checked
 * here.
 */
function requireInstanceMatch(cx: Cx, requested: Instance | undefined): Cx {
  const { case: by, value } = requested?.property ?? emptyOneof
  if (by !== "domain" || hasDomain(cx, value)) return cx
  throw new Fault("not_found", "instance.missing", "instance not found")
}

const details = (cx: Cx, receipt: { id: string; created?: number; changed?: number }) => ({
  id: receipt.id,
  ...(receipt.created === undefined ? {} : { created: timestampFromMs(receipt.created) }),
  ...(receipt.changed === undefined ? {} : { changed: timestampFromMs(receipt.changed) }),
  owner: { type: OwnerType.INSTANCE, id: cx.instance },
})

const toWebKey = (cx: Cx, row: WebKeyRow): MessageInitShape<typeof GetWebKeySchema> => ({
  details: details(cx, row),
  config: { config: formatKeyKind(row.kind) },
  state: states[row.status],
})

const states = {
  initial: WebKeyState.STATE_INITIAL,
  active: WebKeyState.STATE_ACTIVE,
  inactive: WebKeyState.STATE_INACTIVE,
} as const
