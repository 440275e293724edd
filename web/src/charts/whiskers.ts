// Dots with whiskers: a value and its interval, in a row or a column of its own. A dot begins at
// no foot, so nothing is read from the place where an axis starts.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemReturn } from "echarts";
import type { Theme } from "../theme.ts";

/** A value with its interval, along the axis of values. */
export interface Whisker {
  /** Where it stands across the values: a category, or a line. */
  across: number;
  point: number;
  low: number;
  high: number;
  /** Only a bound is known: the dot is hollow, and an arrow shows the open side. */
  bound?: "at-least" | "at-most" | null;
  opacity?: number;
}

export interface WhiskerSeries {
  name: string;
  colour: string;
  /** Whether values lie along the horizontal axis. */
  horizontal: boolean;
  /** How far from the middle of its place it stands, points. */
  shift?: number;
  radius?: number;
  data: Whisker[];
}

interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The series of a contender's dots. */
export function whiskers(theme: Theme, one: WhiskerSeries): object {
  const { horizontal } = one;
  return {
    type: "custom",
    name: one.name,
    itemStyle: { color: one.colour },
    clip: false,
    encode: horizontal ? { x: [0, 2, 3], y: 1 } : { x: 1, y: [0, 2, 3] },
    dimensions: ["point", "across", "low", "high"],
    data: one.data.map((it) => [it.point, it.across, it.low, it.high]),
    z: 3,
    renderItem: (params: unknown, api: CustomSeriesRenderItemAPI) => {
      const { dataIndex, coordSys } = params as { dataIndex: number; coordSys: Area };
      const whisker = one.data[dataIndex];
      return whisker ? drawn(theme, one, whisker, coordSys, api) : null;
    },
  };
}

function drawn(
  theme: Theme,
  one: WhiskerSeries,
  whisker: Whisker,
  area: Area,
  api: CustomSeriesRenderItemAPI,
): CustomSeriesRenderItemReturn {
  const { horizontal, colour } = one;
  const shift = one.shift ?? 0;
  const spot = (value: number): [number, number] => {
    const point = horizontal ? [value, whisker.across] : [whisker.across, value];
    const [x = 0, y = 0] = api.coord(point);
    return horizontal ? [x, y + shift] : [x + shift, y];
  };
  const radius = one.radius ?? 4.5;
  const [left, right] = [area.x, area.x + area.width];
  const [top, bottom] = [area.y, area.y + area.height];
  const inside = ([x, y]: [number, number]): [number, number] =>
    horizontal
      ? [Math.min(Math.max(x, left), right), y]
      : [x, Math.min(Math.max(y, top), bottom)];
  const middle = spot(whisker.point);
  const [low, high] = [inside(spot(whisker.low)), inside(spot(whisker.high))];
  const stroke = { stroke: colour, lineWidth: 2, fill: "none", lineCap: "round" as const };
  const line = (from: [number, number], to: [number, number]) => ({
    type: "line" as const,
    shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] },
    style: stroke,
  });
  const cap = ([x, y]: [number, number]) =>
    horizontal ? line([x, y - 3.5], [x, y + 3.5]) : line([x - 3.5, y], [x + 3.5, y]);
  const children: object[] = [];
  const visible = (at: [number, number]) => {
    const [x, y] = inside(at);
    return Math.abs(x - at[0]) < 1 && Math.abs(y - at[1]) < 1;
  };
  const length = horizontal ? Math.abs(high[0] - low[0]) : Math.abs(high[1] - low[1]);
  if (length > 0.5) children.push(line(low, high));
  if (length > 2 * radius) {
    if (visible(spot(whisker.low))) children.push(cap(low));
    if (visible(spot(whisker.high))) children.push(cap(high));
  }
  if (whisker.bound && visible(middle)) {
    children.push(arrow(one, whisker.bound, whisker.bound === "at-least" ? high : low, inside));
  }
  if (visible(middle)) {
    const hollow = Boolean(whisker.bound);
    children.push({
      type: "circle",
      shape: { cx: middle[0], cy: middle[1], r: radius },
      style: { fill: hollow ? theme.surface : colour, stroke: colour, lineWidth: 2 },
    });
  }
  const opacity = whisker.opacity ?? 1;
  if (visible(middle) && opacity < 1) {
    // The line does not show through a pale dot.
    const shape = { cx: middle[0], cy: middle[1], r: radius };
    children.splice(-1, 0, { type: "circle", shape, style: { fill: theme.surface } });
  }
  for (const child of children as { style: Record<string, unknown> }[]) {
    if (child.style["fill"] !== theme.surface || child.style["stroke"]) {
      child.style["opacity"] = opacity;
    }
  }
  return { type: "group", children } as CustomSeriesRenderItemReturn;
}

/** An arrow towards the side where the truth may lie. */
function arrow(
  one: WhiskerSeries,
  bound: "at-least" | "at-most",
  from: [number, number],
  inside: (at: [number, number]) => [number, number],
): object {
  const more = bound === "at-least" ? 1 : -1;
  const [x, y] = from;
  const tip = inside(one.horizontal ? [x + 16 * more, y] : [x, y - 16 * more]);
  const [a, b] = tip;
  const points = one.horizontal
    ? [
        [x, y],
        [a, b],
        [a - 4 * more, b - 3.5],
        [a, b],
        [a - 4 * more, b + 3.5],
      ]
    : [
        [x, y],
        [a, b],
        [a - 3.5, b + 4 * more],
        [a, b],
        [a + 3.5, b + 4 * more],
      ];
  return {
    type: "polyline",
    shape: { points },
    style: { stroke: one.colour, lineWidth: 1.5, fill: "none" },
  };
}

/** How far apart contenders stand in one place, and each one's distance from its middle. */
export function shifts(count: number, room: number): number[] {
  const step = Math.min(room / Math.max(count, 1), 16);
  return Array.from({ length: count }, (_, index) => (index - (count - 1) / 2) * step);
}
