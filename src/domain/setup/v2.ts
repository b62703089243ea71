import { bindHandlers } from "../../api/method.ts"
import { InstanceService } from "../../gen/core/instance/v2/instance_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { toTimestamp } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { removeInstance } from "../instance/index.ts"
import { firstInstance } from "./first-instance.ts"

export const v2 = bindHandlers<Cx>()(InstanceService, {
  deleteInstance: async (_, cx) => {
    if (cx.instance === firstInstance) {
      throw new Fault(
        "failed_precondition",
        "instance.first",
        "the first instance can't be deleted",
      )
    }
    const { changed } = await removeInstance(cx, cx.instance)
    return { deletionDate: toTimestamp(changed) }
  },
})
