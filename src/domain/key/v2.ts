import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
import { State, type WebKeySchema } from "../../gen/core/webkey/v2/webkey_pb.ts"
import { WebKeyService } from "../../gen/core/webkey/v2/webkey_service_pb.ts"
import { deletion } from "../../protocol/api/answer.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { activateWebKey, createWebKey, deleteWebKey } from "./commands.ts"
import { configOf, kindOf } from "./config.ts"
import { listWebKeys, type WebKeyRow } from "./view.ts"

export const v2 = share<Cx>()(WebKeyService, {
  createWebKey: async (req, cx) => created(await createWebKey(cx, kindOf(req.key))),
  activateWebKey: async (req, cx) => turned(await activateWebKey(cx, req.id)),
  deleteWebKey: async (req, cx) => deletion(await deleteWebKey(cx, req.id)),
  listWebKeys: (_, cx) => ({ webKeys: listWebKeys(cx).map(toWebKey) }),
})

const created = ({ id, created: ms }: Receipt) => ({ id, creationDate: timestampFromMs(ms) })

const turned = ({ changed }: Receipt) => ({ changeDate: timestampFromMs(changed) })

const toWebKey = (row: WebKeyRow): MessageInitShape<typeof WebKeySchema> => ({
  id: row.id,
  creationDate: timestampFromMs(row.created),
  changeDate: timestampFromMs(row.changed),
  state: states[row.status],
  key: configOf(row.kind),
})

const states = {
  initial: State.INITIAL,
  active: State.ACTIVE,
  inactive: State.INACTIVE,
} as const
