import type { MessageInitShape } from "@bufbuild/protobuf"
import type { Condition, ConditionSchema } from "../../../src/gen/core/action/v2/execution_pb.ts"

/** When targets are called. */
export const moments = ["request", "response", "function", "event"] as const
export type Moment = (typeof moments)[number]

/** What of it, as the server writes it: a service, a method, a group of events; "" is all. */
export type At = { readonly moment: Moment; readonly name: string }

/** A condition in one text, as the list of calls has it: "request/core.user.v2.UserService". */
export const textOf = ({ moment, name }: At): string => (name ? `${moment}/${name}` : moment)

export function atOf(condition: Condition | undefined): At {
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

const all = { case: "all", value: true } as const

export function conditionOf({ moment, name }: At): MessageInitShape<typeof ConditionSchema> {
  if (moment === "function") return { conditionType: { case: moment, value: { name } } }
  if (moment === "event") {
    const group = name.endsWith(".*")
    const value = group ? name.slice(0, -2) : name
    const condition = name ? ({ case: group ? "group" : "event", value } as const) : all
    return { conditionType: { case: moment, value: { condition } } }
  }
  const method = { case: "method", value: `/${name.replace(/^\//, "")}` } as const
  const service = { case: "service", value: name } as const
  const condition = name === "" ? all : name.includes("/") ? method : service
  return { conditionType: { case: moment, value: { condition } } }
}
