import { type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf"
import { type Access, access } from "../../gen/core/options_pb.ts"
import { Fault, fieldError, staleEditError } from "../../kernel/fault.ts"
import { versionField } from "../edit/expected.ts"
import { deniedError, missingIdError, notFoundError, tokenMissingError } from "../faults.ts"
import { choiceOf, rulesOf } from "../input/rules.ts"

/** Example errors of an operation, one of each kind. */
export function exampleFaultsOf({ input }: DescMethod, rule: Access): readonly Fault[] {
  if (rule.public) return [invalidRequestExample(input, rule)]
  const { permission, resource, id } =
    [rule, ...rule.either].find((each) => each.permission) ?? rule
  const isFound = id !== "" && !id.startsWith("@") && resource !== "instance"
  return [
    invalidRequestExample(input, rule),
    tokenMissingError(),
    ...(permission ? [deniedError(permission)] : []),
    ...(isFound ? [notFoundError(resource)] : []),
    ...(input.fields.some((field) => field.name === versionField) ? [staleExample] : []),
  ]
}

const staleExample = staleEditError({
  userId: "278362384872636416",
  displayName: "Ada Lovelace",
  time: Date.UTC(2030, 0, 1),
})

/**
 * An error for an invalid request: a missing required field, or an unknown field if nothing is
 * required.
 */
function invalidRequestExample(input: DescMessage, rule: Access): Fault {
  // A missing ID is a different kind of error.
  const field = input.fields.find((each) => {
    const { required, error } = rulesOf(each)
    return required && (error === "" || error.endsWith("_invalid"))
  })
  if (!field) {
    const unknownFieldText = 'unknown field "nam"; did you mean "name"?'
    return new Fault("invalid_argument", "request.invalid", unknownFieldText)
  }
  if (idFieldsIn(rule).includes(field.name)) return missingIdError(field.name)
  return fieldError(rulesOf(field).error || "request.field_missing", field.name, "is required")
}

/** The fields that identify the resource of a request. */
const idFieldsIn = (rule: Access): readonly string[] =>
  [rule, ...rule.either].flatMap(({ id, parent }) => [id, parent])

/** The IDs of the errors that an operation returns if a request breaks a field rule. */
export function errorsOf(method: DescMethod): readonly string[] {
  const ids = idFieldsIn(ruleOf(method))
  const found = new Set<string>()
  const seen = new Set<DescMessage>()
  const visit = (message: DescMessage) => {
    if (seen.has(message)) return
    seen.add(message)
    for (const group of message.oneofs) found.add(choiceOf(group).error)
    for (const field of message.fields) {
      const { error, required, requiredWithoutMask } = rulesOf(field)
      const isId = message === method.input && ids.includes(field.name)
      const missing = isId ? "request.id_missing" : "request.field_missing"
      found.add(error || (required || requiredWithoutMask ? missing : ""))
      if (field.message) visit(field.message)
    }
  }
  visit(method.input)
  found.delete("")
  return [...found].sort()
}

/** The access rule of an operation. */
export const ruleOf = (method: DescMethod): Access => getOption(method, access)
