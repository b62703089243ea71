import type { DescMethod } from "@bufbuild/protobuf"
import { codes } from "../../kernel/fault.ts"
import type { Entry } from "../dispatch.ts"
import { connectErrorOf } from "../encoding/connect-error.ts"
import { answerExample, requestExample } from "./example.ts"
import { ruleOf } from "./failure.ts"
import {
  content,
  describeOperation,
  documentInfo,
  errorResponsesOf,
  securitySchemes,
  servers,
} from "./operation.ts"
import { createSchemas, type Schemas } from "./schema.ts"

type Json = Readonly<Record<string, unknown>>

/** Whether a method is a unary operation of version 2. */
export const isOfVersion2 = ({ parent, methodKind }: DescMethod): boolean =>
  methodKind === "unary" && /\.v2$/.test(parent.file.proto.package)

/** The OpenAPI 3.0.3 document of version 2 in the JSON form of Connect. */
export function connectOpenApiOf(entries: readonly Entry[]) {
  const methods = entries.flatMap(({ method }) => (isOfVersion2(method) ? [method] : []))
  const schemas = createSchemas({
    requests: new Set(methods.map(({ input }) => input)),
    responses: methods.map(({ output }) => output),
    plainNamed: new Set(),
    inPath: () => [],
    reservedNames: ["Error"],
  })
  const paths = methods.map((method) => [
    `/${method.parent.typeName}/${method.name}`,
    { post: operationOf(schemas, method) },
  ])
  const tags = new Map(methods.map((method) => [tagOf(method), method.parent.typeName]))
  return {
    openapi: "3.0.3",
    info: { title: "Latchkey API, version 2", version: "2.0.0", description, ...documentInfo },
    servers,
    tags: [...tags].map(([name, service]) => ({ name, description: `Service ${service}.` })),
    paths: Object.fromEntries(paths),
    components: { schemas: { ...schemas.all(), Error: ErrorSchema }, securitySchemes },
    security: [{ bearer: [] }],
  }
}

const description =
  "Version 2 in the JSON form of Connect. Every operation is a POST to the full name of " +
  "its service and its method. The same operations are available over gRPC and gRPC-Web."

/** The tag of "core.user.v2.UserService" is "User". */
const tagOf = ({ parent }: DescMethod): string => parent.name.replace(/Service$/, "")

/** The body of all errors. */
const ErrorSchema = {
  type: "object",
  required: ["code"],
  properties: {
    code: { type: "string", enum: codes },
    message: { type: "string", description: "A description of the error, followed by its ID." },
    details: {
      type: "array",
      items: {
        type: "object",
        properties: {
          type: { type: "string", description: "The full name of the message." },
          value: {
            type: "string",
            description: "The message in protobuf binary encoding, as base64.",
          },
          debug: {
            type: "object",
            description: "The message as JSON.",
            additionalProperties: true,
          },
        },
      },
    },
  },
}

function operationOf(schemas: Schemas, method: DescMethod): Json {
  const { input, output, parent, name } = method
  const error = { $ref: "#/components/schemas/Error" }
  return {
    operationId: `${parent.name}_${name}`,
    tags: [tagOf(method)],
    ...describeOperation(method),
    requestBody: { required: true, ...content(schemas.refTo(input), requestExample(input)) },
    responses: {
      200: {
        description: "The call succeeded.",
        ...content(schemas.refTo(output), answerExample(output)),
      },
      ...errorResponsesOf(method, error, connectErrorOf),
      default: { description: "The call failed.", ...content(error) },
    },
    ...(ruleOf(method).public ? { security: [] } : {}),
  }
}
