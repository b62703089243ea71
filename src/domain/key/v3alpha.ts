import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
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
import { configOf, kindOf } from "./config.ts"
import { listWebKeys, type WebKeyRow } from "./view.ts"

export const v3alpha = share<Cx>()(CoreWebKeys, {
  createWebKey: async ({ instance, key }, cx) => ({
    details: details(cx, await createWebKey(on(cx, instance), kindOf(key?.config ?? unsaid))),
  }),
  activateWebKey: async ({ instance, id }, cx) => ({
    details: details(cx, await activateWebKey(on(cx, instance), id)),
  }),
  deleteWebKey: async ({ instance, id }, cx) => ({
    details: details(cx, { id, ...(await deleteWebKey(on(cx, instance), id)) }),
  }),
  listWebKeys: ({ instance }, cx) => ({
    webKeys: listWebKeys(on(cx, instance)).map((row) => toWebKey(cx, row)),
  }),
})

const unsaid = { case: undefined, value: undefined } as const

/**
 * The instance that is meant must be the one that was called. The access rule looks at an id; a
 * domain is looked at here.
 */
function on(cx: Cx, meant: Instance | undefined): Cx {
  const { case: by, value } = meant?.property ?? unsaid
  if (by !== "domain" || hasDomain(cx, value)) return cx
  throw new Fault("not_found", "instance.missing", "there is no instance with this domain")
}

const details = (cx: Cx, at: { id: string; created?: number; changed?: number }) => ({
  id: at.id,
  ...(at.created === undefined ? {} : { created: timestampFromMs(at.created) }),
  ...(at.changed === undefined ? {} : { changed: timestampFromMs(at.changed) }),
  owner: { type: OwnerType.INSTANCE, id: cx.instance },
})

const toWebKey = (cx: Cx, row: WebKeyRow): MessageInitShape<typeof GetWebKeySchema> => ({
  details: details(cx, row),
  config: { config: configOf(row.kind) },
  state: states[row.status],
})

const states = {
  initial: WebKeyState.STATE_INITIAL,
  active: WebKeyState.STATE_ACTIVE,
  inactive: WebKeyState.STATE_INACTIVE,
} as const
