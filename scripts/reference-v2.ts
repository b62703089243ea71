// The reference of API version 2: one page per service, generated from its descriptors.
import { type DescField, type DescMethod, type DescService, ScalarType } from "@bufbuild/protobuf"
import { allServices } from "../src/api/book.ts"
import { connectErrorOf } from "../src/api/encoding/connect-error.ts"
import { httpStatus } from "../src/api/faults.ts"
import { rulesOf } from "../src/api/input/rules.ts"
import { isOfVersion2 } from "../src/api/openapi/connect-document.ts"
import { answerExample, requestExample } from "../src/api/openapi/example.ts"
import { errorsOf, exampleFaultsOf, ruleOf } from "../src/api/openapi/failure.ts"
import { comments } from "../src/gen/comments.ts"
import {
  formatPage,
  formatRequirements,
  formatTable,
  inlineCode,
  type Row,
} from "./reference-page.ts"

const services: readonly DescService[] = allServices.filter(({ methods }) =>
  methods.some((method: DescMethod) => isOfVersion2(method)),
)

/** "InternalPermissionService" is on "api-v2-internal-permission.md". */
const fileOf = ({ name }: DescService): string => {
  const words = name.replace(/Service$/, "").replace(/([a-z])([A-Z])/g, "$1-$2")
  return `api-v2-${words.toLowerCase()}.md`
}

/** The pages of API version 2 by file name. */
export const versionTwo: readonly (readonly [string, () => string])[] = [
  ["api-v2.md", formatIndex],
  ...services.map((service) => [fileOf(service), () => formatService(service)] as const),
]

function formatIndex(): string {
  const rows = services.map((service) => {
    const link = `[${service.typeName}](${fileOf(service)})`
    return [link, service.methods.map(({ name }) => name).join(", ")]
  })
  return formatPage(
    "Version 2",
    "Every operation has the path `/SERVICE/OPERATION`, for gRPC, gRPC-Web and Connect. " +
      "With Connect in JSON, send a POST with the request as JSON:",
    codeBlock("sh", formatCurl("core.project.v2.ProjectService/ListProjects", "{}")),
    "An error has a status, a code, and a message that ends with the error ID. Its details " +
      "name the invalid field. `/openapi/v2/json` of a server returns the same information " +
      "as an OpenAPI document for client generators.",
    formatTable(["Service", "Operations"], rows),
  )
}

const formatCurl = (name: string, body: string): string =>
  `curl --silent --header "authorization: Bearer $TOKEN" --json '${body}' \\\n` +
  `  https://id.example.com/${name}`

const codeBlock = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``

const formatService = (service: DescService): string =>
  formatPage(service.typeName, "[All services](api-v2.md)", ...service.methods.map(formatOperation))

function formatOperation(method: DescMethod): string {
  const { parent, name, input, output } = method
  const full = `${parent.typeName}/${name}`
  return [
    `## ${name}${method.deprecated ? " (deprecated)" : ""}`,
    comments[full] ?? "",
    `Requires ${formatRequirements(ruleOf(method))}.`,
    formatFields(input.fields),
    codeBlock("sh", formatCurl(full, formatJson(requestExample(input)))),
    "Response:",
    codeBlock("json", formatJson(answerExample(output))),
    formatErrors(method),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
}

const formatJson = (value: object): string => JSON.stringify(value, undefined, 2)

/** The fields of a request with their constraints. */
function formatFields(all: readonly DescField[]): string {
  if (all.length === 0) return ""
  const rows = all.map(
    (field): Row => [inlineCode(field.jsonName), typeOf(field), formatConstraints(field)],
  )
  return formatTable(["Field", "Type", "Rule"], rows)
}

function typeOf(field: DescField): string {
  const one = field.message?.name ?? field.enum?.name ?? scalarOf(field)
  if (field.fieldKind === "map") return `map of ${one}`
  return field.fieldKind === "list" ? `list of ${one}` : one
}

const scalarOf = ({ scalar }: DescField): string =>
  ScalarType[scalar ?? ScalarType.STRING].toLowerCase()

function formatConstraints(field: DescField): string {
  const { required, requiredWithoutMask, maxLength, minimum, maximum, pattern } = rulesOf(field)
  const parts = [
    required && "required",
    requiredWithoutMask && "required without `updateMask`",
    field.oneof &&
      `one of ${field.oneof.fields.map(({ jsonName }) => inlineCode(jsonName)).join(", ")}`,
    maxLength > 0 && `at most ${maxLength} characters`,
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    pattern && `matches ${inlineCode(pattern)}`,
  ]
  return parts.filter(Boolean).join("; ")
}

/** The errors of an operation, an example of each, and the error IDs of its fields. */
function formatErrors(method: DescMethod): string {
  const rows = exampleFaultsOf(method, ruleOf(method)).map((fault): Row => {
    const { message } = Object(connectErrorOf(fault))
    return [`${httpStatus(fault.code)}`, inlineCode(fault.code), message]
  })
  const errors = errorsOf(method)
  const fieldErrors =
    errors.length > 0 ? `\n\nField errors: ${errors.map(inlineCode).join(", ")}.` : ""
  return `${formatTable(["Status", "Code", "Example:"], rows)}${fieldErrors}`
}
