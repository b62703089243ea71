import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../api/method.ts"
import { State, type WebKeySchema } from "../../gen/core/webkey/v2/webkey_pb.ts"
import { WebKeyService } from "../../gen/core/webkey/v2/webkey_service_pb.ts"
import { toDeletion } from "../../protocol/api/response.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { activateWebKey, createWebKey, deleteWebKey } from "./commands.ts"
import { formatKeyKind, parseKeyKind } from "./config.ts"
import { listWebKeys, type WebKeyRow } from "./view.ts"

export const v2 = bindHandlers<Cx>()(WebKeyService, {
  createWebKey: async (req, cx) => toCreated(await createWebKey(cx, parseKeyKind(req.key))),
  activateWebKey: async (req, cx) => toChanged(await activateWebKey(cx, req.id)),
  deleteWebKey: async (req, cx) => toDeletion(await deleteWebKey(cx, req.id)),
  listWebKeys: (_, cx) => ({ webKeys: listWebKeys(cx).map(toWebKey) }),
})

const toCreated = ({ id, created: ms }: Receipt) => ({ id, creationDate: timestampFromMs(ms) })

const toChanged = ({ changed }: Receipt) => ({ changeDate: timestampFromMs(changed) })

const toWebKey = (row: WebKeyRow): MessageInitShape<typeof WebKeySchema> => ({
  id: row.id,
  creationDate: timestampFromMs(row.created),
  changeDate: timestampFromMs(row.changed),
  state: states[row.status],
  key: formatKeyKind(row.kind),
})

const states = {
  initial: State.INITIAL,
  active: State.ACTIVE,
  inactive: State.INACTIVE,
} as const
