/** It has no types of its own. */
declare module "parse-prometheus-text-format" {
  type Metric = {
    readonly labels?: Readonly<Record<string, string>>
    /** Of counters and gauges. */
    readonly value?: string
  }
  type Family = {
    readonly name: string
    readonly type: string
    readonly metrics: readonly Metric[]
  }
  const parse: (text: string) => readonly Family[]

  // biome-ignore lint/style/noDefaultExport: the library has no other.
  export { parse as default }
}
