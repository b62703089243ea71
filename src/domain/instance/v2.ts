import { share } from "../../api/method.ts"
import { State } from "../../gen/core/instance/v2/instance_pb.ts"
import { InstanceService } from "../../gen/core/instance/v2/instance_service_pb.ts"
import { at } from "../../kernel/answer.ts"
import { version } from "../../kernel/version.ts"
import type { Cx } from "../../store/index.ts"
import { findInstance } from "./commands.ts"
import { domainsOf } from "./domain.ts"

export const v2 = share<Cx>()(InstanceService, {
  getInstance: (_, cx) => ({ instance: toInstance(cx) }),
})

function toInstance(cx: Cx) {
  const { id, name, created, changed } = findInstance(cx)
  return {
    id,
    name,
    version,
    state: State.RUNNING,
    creationDate: at(created),
    changeDate: at(changed),
    customDomains: domainsOf(cx, created).map(({ domain, primary, generated }) => ({
      instanceId: id,
      creationDate: at(created),
      domain,
      primary,
      generated,
    })),
  }
}
