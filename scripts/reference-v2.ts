// The reference of version 2: a page for each service, made from its descriptors.
import { type DescField, type DescMethod, type DescService, ScalarType } from "@bufbuild/protobuf"
import { book } from "../src/api/book.ts"
import { connectErrorOf } from "../src/api/encoding/connect-error.ts"
import { httpStatus } from "../src/api/faults.ts"
import { rulesOf } from "../src/api/input/rules.ts"
import { isOfVersion2 } from "../src/api/openapi/connect-document.ts"
import { answerExample, requestExample } from "../src/api/openapi/example.ts"
import { errorsOf, failuresOf, ruleOf } from "../src/api/openapi/failure.ts"
import { comments } from "../src/gen/comments.ts"
import { code, needs, page, type Row, table } from "./reference-page.ts"

const services: readonly DescService[] = book.filter(({ methods }) =>
  methods.some((method: DescMethod) => isOfVersion2(method)),
)

/** "InternalPermissionService" is on "api-v2-internal-permission.md". */
const fileOf = ({ name }: DescService): string => {
  const words = name.replace(/Service$/, "").replace(/([a-z])([A-Z])/g, "$1-$2")
  return `api-v2-${words.toLowerCase()}.md`
}

/** The pages of version 2, by their files. */
export const versionTwo: readonly (readonly [string, () => string])[] = [
  ["api-v2.md", index],
  ...services.map((service) => [fileOf(service), () => pageOf(service)] as const),
]

function index(): string {
  const rows = services.map((service) => {
    const link = `[${service.typeName}](${fileOf(service)})`
    return [link, service.methods.map(({ name }) => name).join(", ")]
  })
  return page(
    "Version 2",
    "Every operation is at `/SERVICE/OPERATION`, by gRPC, gRPC-Web and Connect. In the JSON form " +
      "of Connect it is a POST with the request as JSON:",
    fenced("sh", curl("core.project.v2.ProjectService/ListProjects", "{}")),
    "A failure has a status, a code, and a message that ends with the ID of the error. Its " +
      "details name the field that it is about. `/openapi/v2/json` of a server has the same as " +
      "an OpenAPI document for generators of clients.",
    table(["Service", "Operations"], rows),
  )
}

const curl = (name: string, body: string): string =>
  `curl --silent --header "authorization: Bearer $TOKEN" --json '${body}' \\\n` +
  `  https://id.example.com/${name}`

const fenced = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``

const pageOf = (service: DescService): string =>
  page(service.typeName, "[All services](api-v2.md)", ...service.methods.map(operation))

function operation(method: DescMethod): string {
  const { parent, name, input, output } = method
  const full = `${parent.typeName}/${name}`
  return [
    `## ${name}${method.deprecated ? " (deprecated)" : ""}`,
    comments[full] ?? "",
    `Needs ${needs(ruleOf(method))}.`,
    fields(input.fields),
    fenced("sh", curl(full, json(requestExample(input)))),
    "The answer:",
    fenced("json", json(answerExample(output))),
    failures(method),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
}

const json = (value: object): string => JSON.stringify(value, undefined, 2)

/** The fields of a request, with what each must hold. */
function fields(all: readonly DescField[]): string {
  if (all.length === 0) return ""
  const rows = all.map((field): Row => [code(field.jsonName), typeOf(field), ruleIn(field)])
  return table(["Field", "Type", "Rule"], rows)
}

function typeOf(field: DescField): string {
  const one = field.message?.name ?? field.enum?.name ?? scalarOf(field)
  if (field.fieldKind === "map") return `map of ${one}`
  return field.fieldKind === "list" ? `list of ${one}` : one
}

const scalarOf = ({ scalar }: DescField): string =>
  ScalarType[scalar ?? ScalarType.STRING].toLowerCase()

function ruleIn(field: DescField): string {
  const { required, requiredWithoutMask, maxLength, minimum, maximum, pattern } = rulesOf(field)
  const parts = [
    required && "required",
    requiredWithoutMask && "required without `updateMask`",
    field.oneof && `one of ${field.oneof.fields.map(({ jsonName }) => code(jsonName)).join(", ")}`,
    maxLength > 0 && `at most ${maxLength} characters`,
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    pattern && `matches ${code(pattern)}`,
  ]
  return parts.filter(Boolean).join("; ")
}

/** The failures of an operation, an example of each, and the errors of its fields. */
function failures(method: DescMethod): string {
  const rows = failuresOf(method, ruleOf(method)).map((fault): Row => {
    const { message } = Object(connectErrorOf(fault))
    return [`${httpStatus(fault.code)}`, code(fault.code), message]
  })
  const errors = errorsOf(method)
  const named = errors.length > 0 ? `\n\nErrors of its fields: ${errors.map(code).join(", ")}.` : ""
  return `${table(["Status", "Code", "For example"], rows)}${named}`
}
