import type { MessageInitShape } from "@bufbuild/protobuf"
import type { Condition, ConditionSchema } from "../../../src/gen/core/action/v2/execution_pb.ts"

/** Moments at which targets are called. */
export const moments = ["request", "response", "function", "event"] as const
export type Moment = (typeof moments)[number]

/** A service, method or event group as the server names it; empty for all. */
export type ConditionName = { readonly moment: Moment; readonly name: string }

/** A condition as one text, as in the list of calls: "request/core.user.v2.UserService". */
export const formatCondition = ({ moment, name }: ConditionName): string =>
  name ? `${moment}/${name}` : moment

export function parseCondition(condition: Condition | undefined): ConditionName {
  const type = condition?.conditionType
  if (type?.case === "function") return { moment: "function", name: type.value.name }
  if (type?.case === "event") {
    const { case: by, value } = type.value.condition
    return {
      moment: "event",
      name: by === "all" || !by ? "" : by === "group" ? `${value}.*` : value,
    }
  }
  if (!type?.case) return { moment: "request", name: "" }
  const { case: by, value } = type.value.condition
  return { moment: type.case, name: by === "all" || !by ? "" : value.replace(/^\//, "") }
}

const allCondition = { case: "all", value: true } as const

export function toCondition({
  moment,
  name,
}: ConditionName): MessageInitShape<typeof ConditionSchema> {
  if (moment === "function") return { conditionType: { case: moment, value: { name } } }
  if (moment === "event") {
    const group = name.endsWith(".*")
    const value = group ? name.slice(0, -2) : name
    const condition = name ? ({ case: group ? "group" : "event", value } as const) : allCondition
    return { conditionType: { case: moment, value: { condition } } }
  }
  const method = { case: "method", value: `/${name.replace(/^\//, "")}` } as const
  const service = { case: "service", value: name } as const
  const condition = name === "" ? allCondition : name.includes("/") ? method : service
  return { conditionType: { case: moment, value: { condition } } }
}
