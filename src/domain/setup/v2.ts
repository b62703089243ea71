import { share } from "../../api/method.ts"
import { InstanceService } from "../../gen/core/instance/v2/instance_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { at } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { removeInstance } from "../instance/index.ts"
import { firstInstance } from "./first.ts"

export const v2 = share<Cx>()(InstanceService, {
  deleteInstance: async (_, cx) => {
    if (cx.instance === firstInstance) {
      throw new Fault(
        "failed_precondition",
        "instance.first",
        "this is the instance that set-up made, which the others stand beside; it can't be deleted",
      )
    }
    const { changed } = await removeInstance(cx, cx.instance)
    return { deletionDate: at(changed) }
  },
})
