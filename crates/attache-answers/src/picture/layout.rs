//! The positions of the nodes of a picture: columns from parents to children, few crossings, no overlaps.
//!
//! The layers of a topology are known, so the usual three steps are short. Each node is in the column after its last
//! parent. The nodes of a column are ordered by the mean position of their neighbours. Heights are computed by isotonic
//! regression, which puts every node as near to its neighbours as the order allows.

/// The number of times that the order, and then the heights, are improved in each direction.
const SWEEPS: usize = 8;
const ROW_GAP: f64 = 14.0;

#[derive(Debug)]
pub struct Layout {
    /// The column of each node, and the middle of its height.
    pub nodes: Vec<(usize, f64)>,
    /// For each edge the points that it passes through, parent and child excluded.
    pub bends: Vec<Vec<(usize, f64)>>,
    pub columns: usize,
    pub height: f64,
}

/// `heights` of nodes, and edges from parent to child; parents have smaller indexes than their children.
pub fn layout(heights: &[f64], edges: &[(usize, usize)]) -> Layout {
    let mut columns = columns(heights.len(), edges);
    let mut heights = heights.to_vec();
    let mut links = Vec::new();
    let mut bends: Vec<Vec<usize>> = Vec::with_capacity(edges.len());
    // An edge across several columns bends around the nodes between: at a node without height in each column.
    for (parent, child) in edges {
        let mut way = Vec::new();
        let mut from = *parent;
        for column in columns[*parent] + 1..columns[*child] {
            let bend = columns.len();
            columns.push(column);
            heights.push(0.0);
            links.push((from, bend));
            way.push(bend);
            from = bend;
        }
        links.push((from, *child));
        bends.push(way);
    }
    let grid = Grid::new(columns, heights, &links);
    let order = grid.order();
    let places = grid.place(&order);
    let height = places.iter().zip(&grid.heights).map(|(place, height)| place + height / 2.0).fold(0.0, f64::max);
    let at = |node: usize| (grid.columns[node], places[node]);
    Layout {
        nodes: (0..grid.columns.len() - bends.iter().map(Vec::len).sum::<usize>()).map(at).collect(),
        bends: bends.iter().map(|way| way.iter().map(|bend| at(*bend)).collect()).collect(),
        columns: order.len(),
        height,
    }
}

/// The column after the last parent; a node without parents is just before its first child.
fn columns(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut columns = vec![0; nodes];
    let mut by_parent = edges.to_vec();
    by_parent.sort_unstable();
    for (parent, child) in &by_parent {
        columns[*child] = columns[*child].max(columns[*parent] + 1);
    }
    let mut first_child = vec![usize::MAX; nodes];
    let mut is_root = vec![true; nodes];
    for (parent, child) in &by_parent {
        first_child[*parent] = first_child[*parent].min(columns[*child]);
        is_root[*child] = false;
    }
    for node in (0..nodes).filter(|node| is_root[*node] && first_child[*node] != usize::MAX) {
        columns[node] = first_child[node] - 1;
    }
    columns
}

struct Grid {
    columns: Vec<usize>,
    heights: Vec<f64>,
    parents: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
}

impl Grid {
    fn new(columns: Vec<usize>, heights: Vec<f64>, links: &[(usize, usize)]) -> Grid {
        let mut parents = vec![Vec::new(); columns.len()];
        let mut children = vec![Vec::new(); columns.len()];
        for (parent, child) in links {
            children[*parent].push(*child);
            parents[*child].push(*parent);
        }
        Grid { columns, heights, parents, children }
    }

    /// The nodes of each column from top to bottom.
    fn order(&self) -> Vec<Vec<usize>> {
        let mut order = vec![Vec::new(); self.columns.iter().max().map_or(0, |last| last + 1)];
        for (node, column) in self.columns.iter().enumerate() {
            order[*column].push(node);
        }
        let mut rank = vec![0.0; self.columns.len()];
        let number = |column: &[usize], rank: &mut [f64]| {
            column.iter().enumerate().for_each(|(i, node)| rank[*node] = i as f64);
        };
        order.iter().for_each(|column| number(column, &mut rank));
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            let neighbours = if down { &self.parents } else { &self.children };
            for at in 0..order.len() {
                let column = if down { at } else { order.len() - 1 - at };
                // The sort is stable: nodes with the same preferred position keep their order.
                let wish = |node: &usize| mean(&neighbours[*node], &rank, rank[*node]);
                order[column].sort_by(|a, b| wish(a).total_cmp(&wish(b)));
                number(&order[column], &mut rank);
            }
        }
        order
    }

    fn place(&self, order: &[Vec<usize>]) -> Vec<f64> {
        let mut places = vec![0.0; self.columns.len()];
        for column in order {
            self.settle(column, &vec![0.0; column.len()], &mut places);
        }
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            let neighbours = if down { &self.parents } else { &self.children };
            for at in 0..order.len() {
                let column = &order[if down { at } else { order.len() - 1 - at }];
                let wishes: Vec<f64> =
                    column.iter().map(|node| mean(&neighbours[*node], &places, places[*node])).collect();
                self.settle(column, &wishes, &mut places);
            }
        }
        let top = places.iter().zip(&self.heights).map(|(place, height)| place - height / 2.0).fold(f64::MAX, f64::min);
        places.iter_mut().for_each(|place| *place -= top);
        places
    }

    /// Puts the nodes of a column as near to their preferred positions as order and heights allow: the least squares
    /// solution, by pooling neighbours that would overlap.
    fn settle(&self, column: &[usize], wishes: &[f64], places: &mut [f64]) {
        let mut offset = 0.0;
        let mut offsets = Vec::with_capacity(column.len());
        let mut pools: Vec<(f64, usize)> = Vec::new();
        for (i, (node, wish)) in column.iter().zip(wishes).enumerate() {
            if let Some(above) = i.checked_sub(1).and_then(|i| column.get(i)) {
                offset += (self.heights[*above] + self.heights[*node]) / 2.0 + ROW_GAP;
            }
            offsets.push(offset);
            let mut pool = (wish - offset, 1);
            while let Some((sum, count)) = pools.pop_if(|(sum, count)| *sum / *count as f64 > pool.0 / pool.1 as f64) {
                pool = (pool.0 + sum, pool.1 + count);
            }
            pools.push(pool);
        }
        let settled = pools.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
        for ((node, offset), base) in column.iter().zip(offsets).zip(settled) {
            places[*node] = base + offset;
        }
    }
}

fn mean(nodes: &[usize], of: &[f64], otherwise: f64) -> f64 {
    match nodes.len() {
        0 => otherwise,
        count => nodes.iter().map(|node| of[*node]).sum::<f64>() / count as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps_and_children_stand_right_of_their_parents() {
        let edges: Vec<(usize, usize)> =
            (1..60).map(|child| ((child * 7) % child.min(9), child)).chain([(0, 59)]).collect();
        let heights: Vec<f64> = (0..60).map(|i| 30.0 + f64::from(i % 3) * 12.0).collect();
        let layout = layout(&heights, &edges);
        for (parent, child) in &edges {
            assert!(layout.nodes[*parent].0 < layout.nodes[*child].0);
        }
        for a in 0..60 {
            for b in 0..a {
                let ((column_a, y_a), (column_b, y_b)) = (layout.nodes[a], layout.nodes[b]);
                let apart = (heights[a] + heights[b]) / 2.0;
                assert!(column_a != column_b || (y_a - y_b).abs() >= apart, "{a} and {b} overlap");
            }
        }
    }

    #[test]
    fn an_only_child_stands_level_with_its_parent() {
        let layout = layout(&[30.0, 30.0, 30.0], &[(0, 1), (1, 2)]);
        assert_eq!(layout.nodes, [(0, 15.0), (1, 15.0), (2, 15.0)]);
    }
}
