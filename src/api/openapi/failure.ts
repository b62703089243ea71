import { type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf"
import { type Access, access } from "../../gen/core/options_pb.ts"
import { Fault, fieldError, staleError } from "../../kernel/fault.ts"
import { versionField } from "../edit/expected.ts"
import { absentError, deniedError, idMissingError, tokenMissingError } from "../faults.ts"
import { choiceOf, rulesOf } from "../input/rules.ts"

/** What an operation refuses, an example of each kind, as it answers them. */
export function failuresOf({ input }: DescMethod, rule: Access): readonly Fault[] {
  if (rule.public) return [refusalOf(input, rule)]
  const { permission, resource, id } =
    [rule, ...rule.either].find((each) => each.permission) ?? rule
  const isFound = id !== "" && !id.startsWith("@") && resource !== "instance"
  return [
    refusalOf(input, rule),
    tokenMissingError(),
    ...(permission ? [deniedError(permission)] : []),
    ...(isFound ? [absentError(resource)] : []),
    ...(input.fields.some((field) => field.name === versionField) ? [staleExample] : []),
  ]
}

const staleExample = staleError({
  userId: "278362384872636416",
  displayName: "Ada Lovelace",
  time: Date.UTC(2030, 0, 1),
})

/** A request without what it needs most; any request can have a field that is unknown. */
function refusalOf(input: DescMessage, rule: Access): Fault {
  // What is looked up and not found is another kind of failure.
  const field = input.fields.find((each) => {
    const { required, error } = rulesOf(each)
    return required && (error === "" || error.endsWith("_invalid"))
  })
  if (!field) {
    const wanted = "there is no field “nam” here; did you mean “name”?"
    return new Fault("invalid_argument", "request.invalid", wanted)
  }
  if (idFieldsIn(rule).includes(field.name)) return idMissingError(field.name)
  return fieldError(rulesOf(field).error || "request.field_missing", field.name, "is missing")
}

/** The fields that name what a request is about. */
const idFieldsIn = (rule: Access): readonly string[] =>
  [rule, ...rule.either].flatMap(({ id, parent }) => [id, parent])

/** The errors with which an operation refuses a request that breaks a rule of one of its fields. */
export function errorsOf(method: DescMethod): readonly string[] {
  const ids = idFieldsIn(ruleOf(method))
  const found = new Set<string>()
  const seen = new Set<DescMessage>()
  const look = (message: DescMessage) => {
    if (seen.has(message)) return
    seen.add(message)
    for (const group of message.oneofs) found.add(choiceOf(group).error)
    for (const field of message.fields) {
      const { error, required, requiredWithoutMask } = rulesOf(field)
      const isId = message === method.input && ids.includes(field.name)
      const missing = isId ? "request.id_missing" : "request.field_missing"
      found.add(error || (required || requiredWithoutMask ? missing : ""))
      if (field.message) look(field.message)
    }
  }
  look(method.input)
  found.delete("")
  return [...found].sort()
}

/** The rule beside an operation. */
export const ruleOf = (method: DescMethod): Access => getOption(method, access)
