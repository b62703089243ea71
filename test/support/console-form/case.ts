import type { Locator, Page } from "playwright-core"
import { methodOf, type Service } from "../../acceptance/service.ts"
import type { ResourceIds } from "../console-pages.ts"

/**
 * What a case can use in addition to the page: another administrator's calls, by full or short
 * names.
 */
export type FormContext = {
  readonly get: Service["get"]
  readonly resources: ResourceIds
}

/** Values by field name; a function if a field has no name, or several controls. */
export type FormValues = Readonly<
  Record<string, string | boolean | ((form: Locator) => Promise<unknown>)>
>

/** A form of the console that changes something, and the concurrent edits of two administrators. */
export type FormCase = {
  /** The file of the form, and its number in it: "application/api.tsx 2". */
  readonly form: string
  /** The kind of resource, if the form is used for several. */
  readonly variant?: string
  /** `$name` is the ID of a resource. */
  readonly path: string
  readonly open: (page: Page) => Promise<unknown>
  /** Changes one field through the API, while the form is open. */
  readonly otherChange?: (context: FormContext) => Promise<unknown>
  /** Changes another field in the form. */
  readonly ownChange?: FormValues
  /** The relevant stored values. */
  readonly read: (context: FormContext) => Promise<unknown>
  /** The stored values after both changes. */
  readonly both?: unknown
  /** Reverts what would affect later cases. */
  readonly revert?: (context: FormContext) => Promise<unknown>
  /** Both change the same field. */
  readonly same?: {
    readonly otherChange: (context: FormContext) => Promise<unknown>
    readonly ownChange: FormValues
    /** The stored values after the other change, and after mine was kept. */
    readonly before: unknown
    readonly after: unknown
  }
}

/** Presses the button that opens a form. */
export const pressButton = (name: string | RegExp) => (page: Page) =>
  page.getByRole("button", { name, exact: true }).first().click()

/** Selects or clears one of several options, by its label. */
export const pick =
  (label: string | RegExp, on = true) =>
  (form: Locator) =>
    form.getByRole("checkbox", { name: label }).first().setChecked(on)

/** Fills in a field by its label. */
export const typeInto = (label: string, text: string) => (form: Locator) =>
  form.getByLabel(label, { exact: true }).fill(text)

/** Selects an option in the control with a label. */
export const choose = (label: string, option: string) => (form: Locator) =>
  form.getByLabel(label, { exact: true }).selectOption(option)

type ResourceAccess = {
  /** The operation that reads it, and the path in its response. */
  readonly read: readonly [name: string, ...path: readonly (string | number)[]]
  readonly update: string
  readonly of?: object
}

/** Reads the stored values of a resource. */
export const readResource =
  ({ read: [name, ...path], of = {} }: Pick<ResourceAccess, "read" | "of">) =>
  async ({ get }: FormContext) => {
    let value: unknown = await get(name, of)
    for (const step of path) value = Reflect.get(Object(value), step)
    return value
  }

/** Changes some fields of a message that an operation replaces as a whole. */
export const updateResource =
  (whole: ResourceAccess, change: object) => async (context: FormContext) => {
    const present = Object(await readResource(whole)(context))
    const known = methodOf(whole.update).input.fields.map(({ jsonName }) => jsonName)
    const kept = known.flatMap((name) => (name in present ? [[name, present[name]] as const] : []))
    const request = { ...Object.fromEntries(kept), ...whole.of, ...change }
    await context.get(whole.update, request)
  }

/** Fills in the values of a case. */
export async function fill(form: Locator, filling: FormValues): Promise<void> {
  await form.evaluate(openAll)
  for (const [name, value] of Object.entries(filling)) {
    if (typeof value === "function") await value(form)
    else await fillOne(form, name, value)
  }
}

/** In the page: opens every collapsed section, until none is closed. */
const openAll = (form: Element) => {
  const closed = form.querySelectorAll<HTMLElement>("details:not([open]) > summary")
  for (const summary of closed) summary.click()
}

async function fillOne(form: Locator, name: string, value: string | boolean): Promise<void> {
  const field = form.locator(`[name="${name}"]`)
  if (typeof value === "boolean") return field.setChecked(value)
  const kind = await field.first().evaluate((one: object) => Reflect.get(one, "type"))
  if (kind === "radio") return form.locator(`[name="${name}"][value="${value}"]`).check()
  if (kind === "select-one") await field.selectOption(value)
  else await field.fill(value)
}
