/*
 * Shows an OpenAPI document: operations by service, searchable and expandable. The page sets the
 * URL of the document in an element "api-reference".
 */
type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly allOf?: readonly Schema[]
}

type JsonBody = { readonly schema: Schema; readonly example?: unknown }

/** Absent for files. */
type ContentBody = { readonly content?: { readonly "application/json"?: JsonBody } }

type Parameter = {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly schema: Schema
}

type Operation = ContentBody & {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly description?: string
  readonly deprecated?: boolean
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: ContentBody
  readonly responses: Readonly<Record<string, ContentBody & { readonly description: string }>>
}

type OpenApiDocument = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters?: Readonly<Record<string, Parameter>>
  }
}

/** Creates an element with text or children. */
function createElement(tag: string, className: string, ...children: readonly (Node | string)[]) {
  const node = document.createElement(tag)
  if (className) node.className = className
  node.append(...children)
  return node
}

const codeElement = (text: string) => createElement("code", "", text)

/** Title of the REST API document, which has an empty one. */
const restTitle = "REST API"

async function showDocument(): Promise<void> {
  const documentUrl = document.getElementById("api-reference")?.dataset.url ?? "/openapi/json"
  const main = createElement("main", "reader")
  document.documentElement.lang = "en"
  document.title = restTitle
  document.body.append(main)
  const answer = await fetch(documentUrl)
  if (!answer.ok) {
    main.append(
      createElement("p", "", `The document can't be loaded (status ${answer.status}). Try again.`),
    )
    return
  }
  const described: OpenApiDocument = await answer.json()
  document.title = described.info.title || restTitle
  const sections = described.tags.map(({ name }) => createSection(described, name))
  main.append(createHead(described, documentUrl, createSearch(sections)), ...sections)
}

function createHead(
  { info }: OpenApiDocument,
  documentUrl: string,
  field: HTMLElement,
): HTMLElement {
  const link = createElement("a", "", "OpenAPI document")
  link.setAttribute("href", documentUrl)
  const more = createElement("p", "", link, ` · version ${info.version}`)
  return createElement(
    "header",
    "",
    createElement("h1", "", info.title || restTitle),
    paragraph(info.description),
    more,
    field,
  )
}

const paragraph = (text: string) => createElement("p", "", text)

/** A search field that filters the operations of each section. */
function createSearch(sections: readonly HTMLElement[]): HTMLElement {
  const field = document.createElement("input")
  field.type = "search"
  field.className = "input"
  field.placeholder = "Search paths and operations"
  field.setAttribute("aria-label", field.placeholder)
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean)
    for (const section of sections) {
      const rows = [...section.querySelectorAll("details")]
      for (const row of rows) {
        const text = row.querySelector("summary")?.textContent?.toLowerCase() ?? ""
        row.hidden = !words.every((word) => text.includes(word))
      }
      section.hidden = rows.every((row) => row.hidden)
    }
  })
  return field
}

function createSection(described: OpenApiDocument, tag: string): HTMLElement {
  const rows = Object.entries(described.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).flatMap(([verb, operation]) =>
      operation.tags.includes(tag) ? [createRow(described, { path, verb, operation })] : [],
    ),
  )
  return createElement("section", "", createElement("h2", "", tag), ...rows)
}

type OperationRow = { readonly path: string; readonly verb: string; readonly operation: Operation }

/** One operation; its details are rendered when it is opened. */
function createRow(
  described: OpenApiDocument,
  { path, verb, operation }: OperationRow,
): HTMLElement {
  const { operationId, deprecated } = operation
  const old = deprecated ? [createElement("span", "badge badge-warning", "Deprecated")] : []
  const verbs = createElement("code", "verb", verb.toUpperCase())
  const name = createElement("span", "name", operationId)
  const row = createElement(
    "details",
    "operation",
    createElement("summary", "", verbs, codeElement(path), name, ...old),
  )
  row.id = operationId
  row.addEventListener("toggle", () => row.append(createDetails(described, operation)), {
    once: true,
  })
  return row
}

function createDetails(described: OpenApiDocument, operation: Operation): HTMLElement {
  const { description, parameters = [], requestBody, responses } = operation
  const named = parameters.map((each) => resolveParameter(described, each))
  return createElement(
    "div",
    "inside",
    ...(description ? [paragraph(description)] : []),
    ...(named.length > 0
      ? [createHeading("Parameters"), createParameterList(described, named)]
      : []),
    ...(requestBody ? [createHeading("Body"), createSchemaView(described, requestBody)] : []),
    ...createExample(requestBody),
    ...Object.entries(responses).flatMap(([status, response]) => [
      createHeading(status === "default" ? "Other statuses" : `Status ${status}`),
      createSchemaView(described, response),
    ]),
  )
}

const createHeading = (text: string) => createElement("h3", "", text)

const lastSegment = (reference: string) => reference.split("/").at(-1) ?? ""

const resolveParameter = ({ components }: OpenApiDocument, parameter: Parameter): Parameter =>
  components.parameters?.[lastSegment(parameter.$ref ?? "")] ?? parameter

function createParameterList(
  described: OpenApiDocument,
  parameters: readonly Parameter[],
): HTMLElement {
  const lines = parameters.map(
    (each) => `${each.name}: ${formatSchema(described, each.schema, [])}  (${each.in})`,
  )
  return createElement("pre", "", lines.join("\n"))
}

function createSchemaView(described: OpenApiDocument, { content }: ContentBody): HTMLElement {
  const schema = content?.["application/json"]?.schema
  return createElement("pre", "", schema ? formatSchema(described, schema, []) : "nothing")
}

function createExample(body: ContentBody | undefined): readonly HTMLElement[] {
  const example = body?.content?.["application/json"]?.example
  if (example === undefined) return []
  return [createHeading("Example"), createElement("pre", "", JSON.stringify(example, undefined, 2))]
}

/** Formats a schema like its JSON; recursive schemas are shown by name. */
function formatSchema(
  described: OpenApiDocument,
  schema: Schema,
  above: readonly string[],
): string {
  const [only] = schema.allOf ?? []
  if (only) return formatSchema(described, only, above)
  if (schema.$ref) {
    const name = lastSegment(schema.$ref)
    const target = described.components.schemas[name]
    if (!target || above.includes(name) || above.length > 7) return name
    return formatSchema(described, target, [...above, name])
  }
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" | ")
  if (schema.items) return `[${formatSchema(described, schema.items, above)}]`
  if (schema.properties) return formatObject(described, schema.properties, above)
  return schema.format ? `${schema.type} (${schema.format})` : (schema.type ?? "any value")
}

function formatObject(
  described: OpenApiDocument,
  properties: Readonly<Record<string, Schema>>,
  above: readonly string[],
): string {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const value = formatSchema(described, schema, above).replaceAll("\n", "\n  ")
    return `  "${name}": ${value}`
  })
  return rows.length === 0 ? "{}" : `{\n${rows.join(",\n")}\n}`
}

void showDocument()
