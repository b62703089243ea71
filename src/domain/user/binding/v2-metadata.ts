import { bindHandlers } from "../../../api/method.ts"
import { UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import type { Cx } from "../../../store/index.ts"
import { metadataOperations } from "../../family/api.ts"
import { userMetadata } from "../metadata.ts"
import { metadataEntries } from "../metadata-view.ts"

const metadata = metadataOperations({
  ...userMetadata,
  entries: metadataEntries,
  column: "user_id",
})

export const v2metadata = bindHandlers<Cx>()(UserService, {
  setUserMetadata: (req, cx) => metadata.set(cx, req.userId, req.metadata),
  deleteUserMetadata: (req, cx) => metadata.remove(cx, req.userId, req.keys),
  listUserMetadata: (req, cx) => metadata.list(cx, req.userId, req),
})
