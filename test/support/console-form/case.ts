import type { Locator, Page } from "playwright-core"
import { methodOf, type Service } from "../../acceptance/service.ts"
import type { Things } from "../console-place.ts"

/** What a case can do beside the page: another administrator's calls, by full or short names. */
export type Beside = {
  readonly get: Service["get"]
  readonly things: Things
}

/** A value by the name of its field; a function where a field has no name, or several controls. */
export type Filling = Readonly<
  Record<string, string | boolean | ((form: Locator) => Promise<unknown>)>
>

/** A form of the console that changes something, and what two administrators do in it at once. */
export type FormCase = {
  /** The file of the form, and which of its forms it is: "application/api.tsx 2". */
  readonly form: string
  /** What of it, where a form is one of several things. */
  readonly of?: string
  /** `$name` is one of the things. */
  readonly path: string
  readonly open: (page: Page) => Promise<unknown>
  /** Changes one field by the interface, while the form is open. */
  readonly theirs?: (beside: Beside) => Promise<unknown>
  /** Changes another one in the form. */
  readonly mine?: Filling
  /** What is stored, as far as it matters here. */
  readonly read: (beside: Beside) => Promise<unknown>
  /** What is stored after both. */
  readonly both?: unknown
  /** What would stop the cases after it is taken back. */
  readonly takeBack?: (beside: Beside) => Promise<unknown>
  /** Both change the same field. */
  readonly same?: {
    readonly theirs: (beside: Beside) => Promise<unknown>
    readonly mine: Filling
    /** What is stored after theirs, and after I have kept mine. */
    readonly before: unknown
    readonly after: unknown
  }
}

/** Presses the button by which a form is opened. */
export const pressing = (name: string | RegExp) => (page: Page) =>
  page.getByRole("button", { name, exact: true }).first().click()

/** Chooses or unchooses one of several, by its label. */
export const picking =
  (label: string | RegExp, on = true) =>
  (form: Locator) =>
    form.getByRole("checkbox", { name: label }).first().setChecked(on)

/** Fills a field by its label. */
export const typing = (label: string, text: string) => (form: Locator) =>
  form.getByLabel(label, { exact: true }).fill(text)

/** Chooses an option in the control with a label. */
export const choosing = (label: string, option: string) => (form: Locator) =>
  form.getByLabel(label, { exact: true }).selectOption(option)

type Whole = {
  /** The operation that reads it, and where in its answer it is. */
  readonly read: readonly [name: string, ...path: readonly (string | number)[]]
  readonly update: string
  readonly of?: object
}

/** What is stored of a thing. */
export const reading =
  ({ read: [name, ...path], of = {} }: Pick<Whole, "read" | "of">) =>
  async ({ get }: Beside) => {
    let value: unknown = await get(name, of)
    for (const step of path) value = Reflect.get(Object(value), step)
    return value
  }

/** Changes some of what an operation replaces as a whole, as it is now. */
export const updating = (whole: Whole, change: object) => async (beside: Beside) => {
  const present = Object(await reading(whole)(beside))
  const known = methodOf(whole.update).input.fields.map(({ jsonName }) => jsonName)
  const kept = known.flatMap((name) => (name in present ? [[name, present[name]] as const] : []))
  const request = { ...Object.fromEntries(kept), ...whole.of, ...change }
  await beside.get(whole.update, request)
}

/** Types and chooses what a case says. */
export async function fill(form: Locator, filling: Filling): Promise<void> {
  await form.evaluate(openAll)
  for (const [name, value] of Object.entries(filling)) {
    if (typeof value === "function") await value(form)
    else await fillOne(form, name, value)
  }
}

/** In the page: opens all that is closed. Each that is opened is no longer among the closed. */
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
