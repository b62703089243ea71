/** One line of the graph: a name, and points of [minutes, megabytes]. */
export type Series = { readonly name: string; readonly points: readonly (readonly number[])[] }

const size = { width: 760, height: 360, left: 52, right: 16, top: 46, bottom: 44 }
const colors = ["#b45309", "#1d4ed8", "#047857", "#7c3aed"]

/**
 * Returns an SVG line graph of megabytes over minutes. It needs no style sheet and is readable on
 * light and dark pages. `restAt` is the minute of the last request.
 */
export function graphOf(lines: readonly Series[], title: string, restStart: number): string {
  const all = lines.flatMap(({ points }) => points)
  const minutes = Math.max(...all.map(([minute = 0]) => minute))
  const maxValue = Math.ceil(Math.max(...all.map(([, value = 0]) => value)) / 20) * 20
  const { width, height, left, right, top, bottom } = size
  const x = (minute: number) => left + (minute / minutes) * (width - left - right)
  const y = (value: number) => height - bottom - (value / maxValue) * (height - top - bottom)
  const at = (value: number) => value.toFixed(1)
  const text = (
    parts: { x: number; y: number; anchor?: string },
    words: string,
    fill = "#374151",
  ) =>
    `<text x="${at(parts.x)}" y="${at(parts.y)}" text-anchor="${parts.anchor ?? "start"}" ` +
    `fill="${fill}">${words}</text>`
  const rows = Array.from({ length: maxValue / 20 + 1 }, (_, step) => step * 20)
  const step = minutes > 10 ? 5 : 1
  const columns = Array.from({ length: Math.floor(minutes / step) + 1 }, (_, each) => each * step)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" ` +
      `aria-label="${title}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text({ x: left, y: 18 }, title, "#111827"),
    ...rows.map(
      (value) =>
        `<path d="M${left} ${at(y(value))}H${width - right}" stroke="#e5e7eb"/>` +
        text({ x: left - 6, y: y(value) + 4, anchor: "end" }, `${value}`),
    ),
    ...columns.map((minute) =>
      text({ x: x(minute), y: height - bottom + 18, anchor: "middle" }, `${minute}`),
    ),
    text({ x: width / 2, y: height - 8, anchor: "middle" }, "minutes"),
    text({ x: 8, y: top - 10 }, "MB"),
    `<path d="M${at(x(restStart))} ${top}V${height - bottom}" stroke="#9ca3af" ` +
      `stroke-dasharray="4 4"/>`,
    text({ x: x(restStart) - 4, y: top + 12, anchor: "end" }, "no more requests"),
    ...lines.flatMap(({ name, points }, index) => {
      const color = colors[index % colors.length] ?? ""
      const path = points.map(([minute = 0, value = 0]) => `${at(x(minute))} ${at(y(value))}`)
      return [
        `<path d="M${path.join("L")}" fill="none" stroke="${color}" stroke-width="1.5"/>`,
        text({ x: left + 8 + index * 150, y: 36 }, name, color),
      ]
    }),
    "</svg>",
    "",
  ].join("\n")
}
