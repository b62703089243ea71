/*
 * Shows an OpenAPI document: every operation by its service, to be searched and opened. The page
 * that loads it says in an element "api-reference" where the document is.
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

/** A file has none. */
type Content = { readonly content?: { readonly "application/json"?: JsonBody } }

type Parameter = {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly schema: Schema
}

type Operation = Content & {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly description?: string
  readonly deprecated?: boolean
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>
}

type Described = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters?: Readonly<Record<string, Parameter>>
  }
}

/** Makes an element with its text or its children. */
function element(tag: string, className: string, ...inside: readonly (Node | string)[]) {
  const made = document.createElement(tag)
  if (className) made.className = className
  made.append(...inside)
  return made
}

const code = (text: string) => element("code", "", text)

/** The document of the REST interface has an empty title. */
const restTitle = "REST interface"

async function show(): Promise<void> {
  const place = document.getElementById("api-reference")?.dataset.url ?? "/openapi/json"
  const main = element("main", "reader")
  document.documentElement.lang = "en"
  document.title = restTitle
  document.body.append(main)
  const answer = await fetch(place)
  if (!answer.ok) {
    main.append(element("p", "", `The document can't be loaded: ${answer.status}. Try again.`))
    return
  }
  const described: Described = await answer.json()
  document.title = described.info.title || restTitle
  const sections = described.tags.map(({ name }) => sectionOf(described, name))
  main.append(headOf(described, place, search(sections)), ...sections)
}

function headOf({ info }: Described, place: string, field: HTMLElement): HTMLElement {
  const link = element("a", "", "OpenAPI document")
  link.setAttribute("href", place)
  const more = element("p", "", link, ` · version ${info.version}`)
  return element(
    "header",
    "",
    element("h1", "", info.title || restTitle),
    says(info.description),
    more,
    field,
  )
}

const says = (text: string) => element("p", "", text)

/** A field that leaves of every section what it names. */
function search(sections: readonly HTMLElement[]): HTMLElement {
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

function sectionOf(described: Described, tag: string): HTMLElement {
  const rows = Object.entries(described.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).flatMap(([verb, operation]) =>
      operation.tags.includes(tag) ? [rowOf(described, { path, verb, operation })] : [],
    ),
  )
  return element("section", "", element("h2", "", tag), ...rows)
}

type Row = { readonly path: string; readonly verb: string; readonly operation: Operation }

/** One operation; what is inside is made when somebody opens it. */
function rowOf(described: Described, { path, verb, operation }: Row): HTMLElement {
  const { operationId, deprecated } = operation
  const old = deprecated ? [element("span", "badge badge-warning", "Deprecated")] : []
  const verbs = element("code", "verb", verb.toUpperCase())
  const name = element("span", "name", operationId)
  const row = element(
    "details",
    "operation",
    element("summary", "", verbs, code(path), name, ...old),
  )
  row.id = operationId
  row.addEventListener("toggle", () => row.append(insideOf(described, operation)), { once: true })
  return row
}

function insideOf(described: Described, operation: Operation): HTMLElement {
  const { description, parameters = [], requestBody, responses } = operation
  const named = parameters.map((each) => resolved(described, each))
  return element(
    "div",
    "inside",
    ...(description ? [says(description)] : []),
    ...(named.length > 0 ? [heading("Parameters"), parameterList(described, named)] : []),
    ...(requestBody ? [heading("Body"), shape(described, requestBody)] : []),
    ...exampleOf(requestBody),
    ...Object.entries(responses).flatMap(([status, response]) => [
      heading(status === "default" ? "Other statuses" : `Status ${status}`),
      shape(described, response),
    ]),
  )
}

const heading = (text: string) => element("h3", "", text)

const lastOf = (reference: string) => reference.split("/").at(-1) ?? ""

const resolved = ({ components }: Described, parameter: Parameter): Parameter =>
  components.parameters?.[lastOf(parameter.$ref ?? "")] ?? parameter

function parameterList(described: Described, parameters: readonly Parameter[]): HTMLElement {
  const lines = parameters.map(
    (each) => `${each.name}: ${written(described, each.schema, [])}  (${each.in})`,
  )
  return element("pre", "", lines.join("\n"))
}

function shape(described: Described, { content }: Content): HTMLElement {
  const schema = content?.["application/json"]?.schema
  return element("pre", "", schema ? written(described, schema, []) : "nothing")
}

function exampleOf(body: Content | undefined): readonly HTMLElement[] {
  const example = body?.content?.["application/json"]?.example
  if (example === undefined) return []
  return [heading("Example"), element("pre", "", JSON.stringify(example, undefined, 2))]
}

/** A schema as its JSON would look; what holds itself is named, not opened again. */
function written(described: Described, schema: Schema, above: readonly string[]): string {
  const [only] = schema.allOf ?? []
  if (only) return written(described, only, above)
  if (schema.$ref) {
    const name = lastOf(schema.$ref)
    const target = described.components.schemas[name]
    if (!target || above.includes(name) || above.length > 7) return name
    return written(described, target, [...above, name])
  }
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" | ")
  if (schema.items) return `[${written(described, schema.items, above)}]`
  if (schema.properties) return object(described, schema.properties, above)
  return schema.format ? `${schema.type} (${schema.format})` : (schema.type ?? "any value")
}

function object(
  described: Described,
  properties: Readonly<Record<string, Schema>>,
  above: readonly string[],
): string {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const value = written(described, schema, above).replaceAll("\n", "\n  ")
    return `  "${name}": ${value}`
  })
  return rows.length === 0 ? "{}" : `{\n${rows.join(",\n")}\n}`
}

void show()
